package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

func TestTwoReplicasRunAJobOnceForEachTimeThatItIsDue(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		clock, runs := &fakeClock{}, atomic.Int64{}
		job := hourly(func(context.Context) error { runs.Add(1); return nil })
		replicas := []replica{replicaAt(t, dsn, clock, job), replicaAt(t, dsn, clock, job)}
		for slot := int64(1); slot <= 20; slot++ {
			var wg sync.WaitGroup
			for _, r := range replicas {
				for range 3 {
					wg.Go(func() { r.turn(t.Context(), job) })
				}
			}
			wg.Wait()
			if runs.Load() != slot {
				t.Fatalf("%d runs at slot %d", runs.Load(), slot)
			}
			if last := replicas[0].only(t); last.Failure != "" || last.NextAt.Sub(last.StartedAt) > time.Hour || last.NextAt.Sub(last.StartedAt) < 54*time.Minute {
				t.Fatalf("%+v", last)
			}
			clock.pass(time.Hour)
		}
	})
}

// The store's clock stands still in 1970 here, and the replica's own goes on.
func TestOnlyTheStoresClockDecidesWhatIsDue(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		clock, ran := &fakeClock{}, make(chan struct{}, 10)
		r := replicaAt(t, dsn, clock, Job{Name: "purge", Every: time.Second, Do: func(context.Context) error { ran <- struct{}{}; return nil }})
		stop := r.start()
		<-ran
		stop()
		for range 50 {
			r.turn(t.Context(), r.jobs[0])
		}
		if len(ran) != 0 {
			t.Error("it ran again while no time had passed for the store")
		}
		clock.pass(time.Second)
		stop = r.start()
		<-ran
		stop()
	})
}

func holdUntilKilled(dsn string) int {
	s, err := state.Open(context.Background(), dsn, state.Options{})
	if err == nil {
		var r *Runner
		r, err = New(s, slog.Default(), hourly(func(ctx context.Context) error {
			fmt.Println("begun")
			<-ctx.Done()
			return ctx.Err()
		}))
		if err == nil {
			r.pace.lease = 3 * time.Second
			r.Run(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestAKilledHoldersJobIsTakenOver(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		t.Parallel() // it waits for the lease to run out
		ran := make(chan struct{}, 1)
		r := replicaAt(t, dsn, nil, hourly(func(context.Context) error { ran <- struct{}{}; return nil }))
		holder := exec.Command(os.Args[0])
		holder.Env, holder.Stderr = append(os.Environ(), heldStore+"="+dsn), os.Stderr
		out, err := holder.StdoutPipe()
		must(t, err)
		must(t, holder.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
			t.Fatalf("the holder says %q, %v", line, err)
		}
		before := r.only(t)
		if wait := r.turn(t.Context(), r.jobs[0]); wait <= 0 || len(ran) > 0 || before.Holder == "" {
			t.Errorf("it waits %s while %+v", wait, before)
		}
		must(t, holder.Process.Kill())
		holder.Wait()
		stop := r.start()
		select {
		case <-ran:
		case <-time.After(time.Minute):
			t.Errorf("nobody took it over: %+v", r.only(t))
		}
		stop()
		if after := r.only(t); after.Holder != "" || after.Failure != "" || after.EndedAt.Before(before.Until) {
			t.Errorf("before the kill %+v, after the takeover %+v", before, after)
		}
	})
}

func TestAJobsOwnLeaseIsWhatItsHolderHas(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		begun := make(chan struct{}, 1)
		job := hourly(untilStopped(begun))
		job.Lease = 4 * time.Second
		r := replicaAt(t, dsn, &fakeClock{}, job)
		r.pace.grace = time.Millisecond
		stop := r.start()
		<-begun
		if held := r.only(t); held.Until.Sub(held.StartedAt) != job.Lease {
			t.Errorf("held %+v", held)
		}
		stop()
	})
}

func TestAnOverlongJobIsCancelledAndTold(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		job := hourly(untilStopped(make(chan struct{}, 1)))
		job.Limit = 10 * time.Millisecond
		r := replicaAt(t, dsn, &fakeClock{}, job)
		r.turn(t.Context(), job)
		last := r.only(t)
		if !strings.Contains(last.Failure, "ran longer than 10ms") || !r.log.says("ran longer than 10ms") || last.Holder != "" {
			t.Errorf("%+v", last)
		}
	})
}

func TestAFailingJobIsToldAndGoesOnNextTime(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		clock, runs := &fakeClock{}, 0
		failures := []func() error{
			func() error { return errors.New("the disk is full") },
			func() error { panic("an index is out of range") },
			func() error { return nil },
		}
		job := hourly(func(context.Context) error { runs++; return failures[runs-1]() })
		r := replicaAt(t, dsn, clock, job)
		for _, says := range []string{"the disk is full", "out of range", ""} {
			r.turn(t.Context(), job)
			if last := r.only(t); !strings.Contains(last.Failure, says) || (says == "") != (last.Failure == "") || !r.log.says(says) {
				t.Errorf("says %q, want %q", last.Failure, says)
			}
			clock.pass(time.Hour)
		}
		if runs != len(failures) {
			t.Errorf("%d runs", runs)
		}
	})
}

func TestARunEndsByItselfWhenItsHostStops(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		begun, end := make(chan struct{}), make(chan struct{})
		job := hourly(func(ctx context.Context) error {
			begun <- struct{}{}
			<-end
			return ctx.Err()
		})
		r := replicaAt(t, dsn, &fakeClock{}, job)
		r.pace.grace = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
			close(end)
		}()
		r.Run(ctx)
		if last := r.only(t); last.Failure != "" || last.Holder != "" || last.EndedAt.IsZero() {
			t.Errorf("%+v", last)
		}
	})
}

func TestARunThatDoesNotEndInTimeIsBrokenOffAndAnotherReplicaBeginsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		clock, begun, ran := &fakeClock{}, make(chan struct{}, 1), false
		r := replicaAt(t, dsn, clock, hourly(untilStopped(begun)))
		r.pace.grace = time.Millisecond
		stop := r.start()
		<-begun
		stop()
		if last := r.only(t); !strings.Contains(last.Failure, "its host stops") {
			t.Errorf("%+v", last)
		}
		other := replicaAt(t, dsn, clock, hourly(func(context.Context) error { ran = true; return nil }))
		if other.turn(t.Context(), other.jobs[0]); !ran {
			t.Error("what was broken off waits")
		}
	})
}

func TestAHolderThatWasTakenOverStopsAndFinishesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		clock, begun := &fakeClock{}, make(chan struct{}, 1)
		r := replicaAt(t, dsn, clock, hourly(untilStopped(begun)))
		r.pace.lease = 30 * time.Second
		other := replicaAt(t, dsn, clock, hourly(func(context.Context) error { return nil }))
		// The lease is stored for 30 s of the store's, and renewed in 100 ms of ours.
		turn, err := r.store.TakeJob(t.Context(), state.JobRequest{Name: "purge", Holder: r.holder, Every: time.Hour, Lease: r.pace.lease})
		must(t, err)
		clock.pass(r.pace.lease)
		other.turn(t.Context(), other.jobs[0])
		r.pace.lease = 300 * time.Millisecond
		// That our own time for it is not over is no matter of how fast we are.
		failed := r.run(t.Context(), r.jobs[0], turn.Fence, time.Now().Add(time.Hour))
		if !errors.Is(failed, state.ErrLeaseLost) && host.ProblemOf(failed).Code != abi.Busy {
			t.Errorf("it ends with %v", failed)
		}
		before := r.only(t)
		r.finish(t.Context(), r.jobs[0], turn.Fence, failed, 0, 0)
		if after := r.only(t); after != before || !r.log.says("cannot be kept") {
			t.Errorf("the former holder made %+v of %+v", after, before)
		}
	})
}

func TestAHolderThatCannotRenewStopsBeforeOthersBegin(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		begun := make(chan struct{}, 1)
		r := replicaAt(t, dsn, nil, hourly(untilStopped(begun)))
		r.pace.lease = 300 * time.Millisecond
		ended := make(chan struct{})
		go func() {
			r.turn(t.Context(), r.jobs[0])
			close(ended)
		}()
		<-begun
		must(t, r.store.Close())
		<-ended
		if !r.log.says("the store is closed") {
			t.Error("nothing is told")
		}
	})
}

// The store hangs in the middle of the run, and answers only when that has ended.
func TestARunEndsInTimeWhileTheStoreDoesNotAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		lease, grace time.Duration
		stops        bool // while a renewal waits
		says         string
	}{
		"its lease runs out": {300 * time.Millisecond, time.Hour, false, "did not renew its lease in time"},
		"its host stops":     {3 * time.Second, time.Millisecond, true, "its host stops"},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, dsn string) {
				clock, begun, ended := &fakeClock{}, make(chan *hang, 1), make(chan struct{})
				job := hourly(func(ctx context.Context) error {
					hangs := clock.stop()
					begun <- hangs
					<-ctx.Done()
					close(hangs.end)
					return ctx.Err()
				})
				r := replicaAt(t, dsn, clock, job)
				r.pace.lease, r.pace.grace = tt.lease, tt.grace
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					r.turn(ctx, job)
					close(ended)
				}()
				hangs := <-begun
				<-hangs.asked
				if tt.stops {
					cancel()
				}
				<-ended
				if last := r.only(t); !strings.Contains(last.Failure, tt.says) {
					t.Errorf("%+v", last)
				}
			})
		})
	}
}

func TestAJobThatNobodyRanHasOnlyItsName(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	r := replicaAt(t, t.TempDir()+"/store.db", nil, Job{Name: "b", Every: time.Hour, Do: nothing}, Job{Name: "a", Every: time.Hour, Do: nothing})
	jobs, err := r.Jobs(t.Context())
	must(t, err)
	if len(jobs) != 2 || jobs[0] != (state.Job{Name: "a"}) || jobs[1] != (state.Job{Name: "b"}) {
		t.Errorf("%+v", jobs)
	}
}

func TestARunnerRefusesJobsThatItCannotRun(t *testing.T) {
	good := hourly(func(context.Context) error { return nil })
	with := func(change func(j *Job)) []Job {
		job := good
		change(&job)
		return []Job{job}
	}
	for name, jobs := range map[string][]Job{
		"no name":           with(func(j *Job) { j.Name = "" }),
		"a long name":       with(func(j *Job) { j.Name = strings.Repeat("n", host.MaxIDBytes+1) }),
		"nothing to do":     with(func(j *Job) { j.Do = nil }),
		"no pause":          with(func(j *Job) { j.Every = 0 }),
		"an endless pause":  with(func(j *Job) { j.Every = state.MaxJobPause + 1 }),
		"an endless run":    with(func(j *Job) { j.Limit = MaxLimit + 1 }),
		"too short a lease": with(func(j *Job) { j.Lease = time.Second }),
		"one name twice":    {good, good},
		"too many":          make([]Job, MaxJobs+1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(nil, nil, jobs...); err == nil || host.ProblemOf(err).Code != abi.BadValue {
				t.Errorf("got %v", err)
			}
		})
	}
}
