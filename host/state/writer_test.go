package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// hold keeps all lanes of the writer busy, each inside a unit, until release is
// called. What is queued meanwhile may share the units' batch.
func hold(t *testing.T, w *writer) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var held sync.WaitGroup
	for range w.lanes {
		held.Go(func() {
			var once sync.Once                                                  // it may run again
			w.do(context.Background(), func(context.Context, *executor) error { // may be lost with its batch
				once.Do(func() { begun <- struct{}{} })
				<-end
				return nil
			})
		})
	}
	for range w.lanes {
		<-begun
	}
	return func() {
		close(end)
		held.Wait()
	}
}

// together queues units behind a held writer and gives their answers.
func together(t *testing.T, w *writer, units ...func(ctx context.Context, ex *executor) error) []error {
	t.Helper()
	release := hold(t, w)
	errs := make([]error, len(units))
	var wg sync.WaitGroup
	for i, run := range units {
		wg.Go(func() { errs[i] = w.do(context.Background(), run) })
		for len(w.queue) != i+1 {
			time.Sleep(time.Millisecond) // until it waits, so that the order is known
		}
	}
	release()
	wg.Wait()
	return errs
}

func insert(key string) func(ctx context.Context, ex *executor) error {
	return func(ctx context.Context, ex *executor) error {
		_, err := ex.exec(ctx, "INSERT INTO kv (tenant_id, namespace, kv_key, stamp, deleted, value) VALUES ('shop', 'n', ?, 1, 0, '')", key)
		return err
	}
}

func wantKeys(t *testing.T, s *Store, want ...string) {
	t.Helper()
	changes, err := s.Changes(t.Context(), "shop", "n")
	must(t, err)
	got := make([]string, 0, len(changes))
	for _, c := range changes {
		got = append(got, c.Key)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stored are %v, want %v", got, want)
	}
}

func TestAUnitThatFailsTakesNothingOfItsBatchWithIt(t *testing.T) {
	s := openStore(t)
	refused := errors.New("refused")
	errs := together(t, s.writer, insert("a"), func(ctx context.Context, ex *executor) error {
		return errors.Join(insert("b")(ctx, ex), refused)
	}, insert("c"), insert("a"))
	if errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] != nil || errs[3] == nil {
		t.Errorf("answers %v; want the second and the fourth to fail", errs)
	}
	wantKeys(t, s, "a", "c")
}

// What a failure undoes of the units before it is done again, once, and who comes
// after it in the batch is not touched by the next failure.
func TestUnitsBesideFailuresAreKeptOnce(t *testing.T) {
	s := openStore(t)
	refused := errors.New("refused")
	fails := func(key string) func(ctx context.Context, ex *executor) error {
		return func(ctx context.Context, ex *executor) error { return errors.Join(insert(key)(ctx, ex), refused) }
	}
	for _, round := range []string{"1", "2"} { // the second batch has savepoints from its start
		errs := together(t, s.writer, insert("a"+round), insert("b"+round), fails("x"+round), insert("c"+round), fails("y"+round), insert("d"+round))
		for i, err := range errs {
			if want := i == 2 || i == 4; errors.Is(err, refused) != want || !want && err != nil {
				t.Errorf("round %s: unit %d was told %v", round, i, err)
			}
		}
	}
	wantKeys(t, s, "a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2")
	must(t, s.writer.do(t.Context(), insert("later")))
	wantKeys(t, s, "a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "later")
}

// A database that gives up the whole transaction, as SQLite does when a disk
// is full, must not let a unit of the batch be reported as kept, nor run a
// later one outside of a transaction.
func TestABatchWhoseTransactionIsLostFailsAsAWhole(t *testing.T) {
	for name, lose := range map[string]string{"rolled back": "ROLLBACK", "still open": "RELEASE SAVEPOINT unit"} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			errs := together(t, s.writer, insert("a"), func(ctx context.Context, ex *executor) error {
				_, err := ex.exec(ctx, lose)
				if name == "rolled back" {
					err = errors.Join(err, errors.New("disk full"))
				}
				return err
			}, insert("c"))
			if errs[1] == nil || errs[2] != nil {
				t.Errorf("the unit that lost the transaction was told %v, the next one %v", errs[1], errs[2])
			}
			var kept []string // the first may have been in a batch of its own
			for i, key := range []string{"a", "", "c"} {
				if errs[i] == nil {
					kept = append(kept, key)
				}
			}
			wantKeys(t, s, kept...)
			must(t, s.writer.do(t.Context(), insert("later")))
			wantKeys(t, s, append(kept, "later")...)
		})
	}
}

func TestAFullDiskIsToldAndNothingIsHalfKept(t *testing.T) {
	s := openStore(t)
	must(t, s.writer.do(t.Context(), func(ctx context.Context, ex *executor) error {
		var pages int
		_, err := ex.row(ctx, "PRAGMA max_page_count = 60", nil, &pages)
		return err
	}))
	view := s.View("shop", "n")
	for i := range 100 {
		must(t, view.Put(fmt.Sprint("key", i), make([]byte, 10_000)))
	}
	err := s.Settle(t.Context(), Settlement{Session: session("shop"), Call: "c1", Views: []*View{view}})
	if problem := wantCode(t, err, abi.StoreFailure); problem.Message != "the disk of the store is full" {
		t.Errorf("says %q", problem.Message)
	}
	wantKeys(t, s)
	must(t, s.writer.do(t.Context(), insert("small")))
	wantKeys(t, s, "small")
}

func TestAUnitWhoseCallerLeftTheQueueNeverRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		release := hold(t, s.writer)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { gone <- s.writer.do(ctx, insert("a")) }()
		for len(s.writer.queue) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller got %v", err)
		}
		release()
		must(t, s.writer.do(t.Context(), insert("b")))
		wantKeys(t, s, "b")
	})
}

func TestAUnitThatRunsIsWaitedForAndTellsItsTrueEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		err := s.writer.do(ctx, func(ctx context.Context, ex *executor) error {
			cancel()
			return insert("a")(ctx, ex)
		})
		if err != nil {
			t.Errorf("got %v for a unit that was kept", err)
		}
		wantKeys(t, s, "a")
	})
}

func TestTheQueueIsBoundedAndWaitingForRoomEndsWithTheCaller(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		release := hold(t, s.writer)
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range queuedUnits + 10 {
			wg.Go(func() {
				err := s.writer.do(ctx, func(context.Context, *executor) error { t.Error("ran"); return nil })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		for len(s.writer.queue) < queuedUnits {
			time.Sleep(time.Millisecond)
		}
		cancel()
		wg.Wait()
		release()
	})
}

func TestCloseDoesWhatIsQueuedAndRefusesWhatComesLater(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		path := d.fresh(t)
		s, err := Open(t.Context(), path, Options{})
		must(t, err)
		release := hold(t, s.writer)
		const queued = 20
		answers := make(chan error, queued)
		for i := range queued {
			go func() { answers <- s.writer.do(context.Background(), insert(fmt.Sprintf("%02d", i))) }()
		}
		for len(s.writer.queue) < queued {
			time.Sleep(time.Millisecond)
		}
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		for !s.writer.isClosed() {
			time.Sleep(time.Millisecond)
		}
		late := s.SaveState(t.Context(), session("shop"), Change{Key: "k", Data: []byte("1")})
		wantCode(t, late, abi.StoreFailure)
		release()
		must(t, <-closed)
		for range queued {
			must(t, <-answers)
		}
		changes, err := openAt(t, path, Options{}).Changes(t.Context(), "shop", "n")
		must(t, err)
		if len(changes) != queued {
			t.Errorf("%d of %d queued units were kept", len(changes), queued)
		}
	})
}

func TestCallersThatWaitShareACommit(t *testing.T) {
	s := openStore(t)
	for round := range 100 { // a round that the machine slows down may need two commits
		key := fmt.Sprintf("%03d", round)
		shared := false
		errs := together(t, s.writer, insert(key), func(ctx context.Context, ex *executor) error {
			row, err := s.kvRow(ctx, s.reader, "shop", "n", key)
			shared = row.stamp == 0 // the first one's row is written, and not yet committed
			return err
		})
		must(t, errors.Join(errs...))
		if shared {
			return
		}
	}
	t.Error("no two units ever shared a commit")
}

func TestABatchGrowsOlderWhereTheDiskIsSlow(t *testing.T) {
	for commit, want := range map[time.Duration]time.Duration{
		0: batchTime, batchTime / 2: batchTime, 12 * time.Millisecond: 24 * time.Millisecond, time.Second: maxBatchTime,
	} {
		if got := (&lane{commitTime: commit}).batchAge(); got != want {
			t.Errorf("a batch beside a commit of %s is open for %s, want %s", commit, got, want)
		}
	}
}
