package state

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

func jobRequest(holder string) JobRequest {
	return JobRequest{Name: "purge", Holder: holder, Every: time.Hour, Lease: time.Minute}
}

// take gives the fence of a run that the holder gets, or 0 and how long it
// must wait.
func take(t *testing.T, s *Store, req JobRequest) (Fence, time.Duration) {
	t.Helper()
	turn, err := s.TakeJob(t.Context(), req)
	must(t, err)
	return turn.Fence, turn.In
}

func wantTaken(t *testing.T, s *Store, holder string) Fence {
	t.Helper()
	fence, wait := take(t, s, jobRequest(holder))
	if fence == 0 || wait != 0 {
		t.Fatalf("%s gets fence %d and waits %s", holder, fence, wait)
	}
	return fence
}

func wantWait(t *testing.T, s *Store, holder string, want time.Duration) {
	t.Helper()
	if fence, wait := take(t, s, jobRequest(holder)); fence != 0 || wait != want {
		t.Fatalf("%s gets fence %d and waits %s, want %s", holder, fence, wait, want)
	}
}

func theJob(t *testing.T, s *Store) Job {
	t.Helper()
	jobs, err := s.Jobs(t.Context(), "", 0)
	must(t, err)
	if len(jobs) != 1 || jobs[0].Name != "purge" {
		t.Fatalf("jobs %+v", jobs)
	}
	return jobs[0]
}

func TestAJobRunsOnceForEachTimeThatItIsDue(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		began := clock.now().UTC()
		fence := wantTaken(t, s, "a")
		wantWait(t, s, "b", time.Minute)
		wantWait(t, s, "a", time.Minute)
		if job := theJob(t, s); job != (Job{Name: "purge", StartedAt: began, Holder: "a", Until: began.Add(time.Minute)}) {
			t.Errorf("while it runs: %+v", job)
		}
		clock.pass(10 * time.Second)
		must(t, s.FinishJob(t.Context(), "purge", fence, JobEnd{Next: time.Hour}))
		wantWait(t, s, "b", time.Hour-10*time.Second)
		if job := theJob(t, s); job != (Job{Name: "purge", StartedAt: began, EndedAt: began.Add(10 * time.Second), NextAt: began.Add(time.Hour)}) {
			t.Errorf("after its run: %+v", job)
		}
		clock.pass(time.Hour - 10*time.Second)
		if next := wantTaken(t, s, "b"); next <= fence {
			t.Errorf("fence %d after %d", next, fence)
		}
	})
}

func TestOneOfManyTakesAJob(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fresh(t)
		var taken atomic.Int64
		var wg sync.WaitGroup
		for _, s := range []*Store{openAt(t, dsn, Options{}), openAt(t, dsn, Options{})} {
			for range 8 {
				wg.Go(func() {
					turn, err := s.TakeJob(t.Context(), jobRequest("a"))
					if err != nil {
						t.Error(err)
					}
					if turn.Fence != 0 {
						taken.Add(1)
					}
				})
			}
		}
		wg.Wait()
		if taken.Load() != 1 {
			t.Errorf("%d took it", taken.Load())
		}
	})
}

func TestADeadHoldersJobIsTakenOverAndItsOldFenceFinishesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		old := wantTaken(t, s, "a")
		clock.pass(50 * time.Second)
		must(t, s.RenewJob(t.Context(), "purge", old, time.Minute))
		clock.pass(time.Minute - time.Microsecond)
		wantWait(t, s, "b", time.Microsecond)
		clock.pass(time.Microsecond)
		fence := wantTaken(t, s, "b")
		wantLost(t, s.RenewJob(t.Context(), "purge", old, time.Minute))
		wantLost(t, s.FinishJob(t.Context(), "purge", old, JobEnd{Next: time.Hour}))
		if job := theJob(t, s); job.Holder != "b" || !job.EndedAt.IsZero() {
			t.Errorf("%+v", job)
		}
		must(t, s.FinishJob(t.Context(), "purge", fence, JobEnd{}))
		wantLost(t, s.FinishJob(t.Context(), "purge", fence, JobEnd{Next: time.Hour}))
	})
}

func TestAHolderWhoIsLateButNotReplacedMayFinish(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		fence := wantTaken(t, s, "a")
		clock.pass(2 * time.Hour)
		must(t, s.FinishJob(t.Context(), "purge", fence, JobEnd{Next: time.Hour}))
		if job := theJob(t, s); !job.NextAt.Equal(job.EndedAt) {
			t.Errorf("the next run of %+v is in the past", job)
		}
	})
}

func TestAJobsFailureIsKeptUntilItRunsWell(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		long := strings.Repeat("价", abi.KeyBytes)
		must(t, s.FinishJob(t.Context(), "purge", wantTaken(t, s, "a"), JobEnd{Failure: long}))
		if job := theJob(t, s); !strings.HasPrefix(long, strings.TrimRight(job.Failure, "?")) || len(job.Failure) == 0 {
			t.Errorf("failure %q", job.Failure)
		}
		must(t, s.FinishJob(t.Context(), "purge", wantTaken(t, s, "a"), JobEnd{}))
		if job := theJob(t, s); job.Failure != "" {
			t.Errorf("failure %q", job.Failure)
		}
	})
}

func TestAShorterPauseCountsAtOnceAndAClockThatWasPutBackStopsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		must(t, s.FinishJob(t.Context(), "purge", wantTaken(t, s, "a"), JobEnd{Next: time.Hour}))
		shorter := jobRequest("b")
		shorter.Every = time.Second
		if fence, wait := take(t, s, shorter); fence != 0 || wait != time.Second {
			t.Errorf("fence %d, waits %s", fence, wait)
		}
		clock.pass(-time.Minute)
		wantTaken(t, s, "b")
	})
}

func TestADeadHoldersJobDoesNotWaitForAClockThatWasPutBack(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		req := jobRequest("a")
		req.Lease = MaxLeaseTime
		old, _ := take(t, s, req)
		clock.pass(-unitTime) // so old may the time be of who waited for the row
		wantWait(t, s, "b", MaxLeaseTime+unitTime)
		clock.pass(-time.Microsecond)
		fence := wantTaken(t, s, "b")
		if fence <= old {
			t.Errorf("fence %d after %d", fence, old)
		}
		wantLost(t, s.RenewJob(t.Context(), "purge", old, time.Minute))
		clock.pass(-time.Minute) // less than any lease: it is waited for
		wantWait(t, s, "a", 2*time.Minute)
	})
}

func TestJobsRefuseBadInput(t *testing.T) {
	s := openStore(t)
	for name, change := range map[string]func(r *JobRequest){
		"no name":          func(r *JobRequest) { r.Name = "" },
		"a name of breaks": func(r *JobRequest) { r.Name = "a\n" },
		"no holder":        func(r *JobRequest) { r.Holder = "" },
		"no pause":         func(r *JobRequest) { r.Every = 0 },
		"an endless pause": func(r *JobRequest) { r.Every = MaxJobPause + 1 },
		"no lease":         func(r *JobRequest) { r.Lease = 0 },
		"an endless lease": func(r *JobRequest) { r.Lease = MaxLeaseTime + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			req := jobRequest("a")
			change(&req)
			_, err := s.TakeJob(t.Context(), req)
			wantCode(t, err, abi.BadValue)
		})
	}
	fence := wantTaken(t, s, "a")
	wantCode(t, s.RenewJob(t.Context(), "purge", fence, 0), abi.BadValue)
	wantCode(t, s.FinishJob(t.Context(), "purge", fence, JobEnd{Next: -1}), abi.BadValue)
	wantCode(t, s.FinishJob(t.Context(), "", fence, JobEnd{}), abi.BadValue)
	wantLost(t, s.FinishJob(t.Context(), "unknown", fence, JobEnd{}))
	_, err := s.Jobs(t.Context(), "\x00", 0)
	wantCode(t, err, abi.BadValue)
}
