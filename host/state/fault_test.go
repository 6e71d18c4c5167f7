package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state/statetest"
)

// record keeps one record, of which a repetition would make two.
func record(t *testing.T, s *Store, call host.CallID) error {
	return s.Record(t.Context(), host.Record{Session: session("shop"), Call: call, Kind: host.RecordNotice})
}

func TestACommitWhoseAnswerWasLostIsFoundOutAndNotRepeated(t *testing.T) {
	for name, at := range map[string]cut{"before the database heard of it": cutBefore, "after the database did it": cutAfter} {
		t.Run(name, func(t *testing.T) {
			dsn, proxy := through(t, mariadb.Database(t))
			s := openAt(t, dsn, Options{})
			hold(t, s.writer)() // every lane is connected
			var want []string
			for i := range 20 { // more than there are lanes
				call := host.CallID(fmt.Sprint("call", i))
				proxy.set(at)
				must(t, record(t, s, call))
				want = append(want, "notice "+string(call))
			}
			wantRecords(t, s, "shop", want...)
			if proxy.count() != 20 {
				t.Errorf("%d of 20 commits were cut", proxy.count())
			}
		})
	}
}

func TestACommitThatNobodyCanTellAboutSaysSo(t *testing.T) {
	direct := mariadb.Database(t)
	dsn, proxy := through(t, direct)
	s := openAt(t, dsn, Options{})
	hold(t, s.writer)() // every lane is connected
	must(t, record(t, s, "before"))
	s.writer.search = 300 * time.Millisecond
	proxy.set(cutForGood)
	err := record(t, s, "call")
	problem := wantCode(t, err, abi.StoreFailure)
	if !errors.Is(err, ErrUnknownEnd) || !strings.Contains(problem.Hint, "look whether") {
		t.Errorf("got %v", err)
	}
	wantRecords(t, openAt(t, direct, Options{}), "shop", "notice before", "notice call")
	proxy.close()
	err = record(t, s, "later") // nothing of it was begun
	if wantCode(t, err, abi.StoreFailure); errors.Is(err, ErrUnknownEnd) {
		t.Errorf("got %v", err)
	}
}

func TestAConnectionThatDiedWhileItWasIdleIsReplaced(t *testing.T) {
	dsn := mariadb.Database(t)
	s := openAt(t, dsn, Options{})
	var wg sync.WaitGroup
	all := func(name string) {
		for i := range 3 * mysqlLanes {
			wg.Go(func() {
				if err := record(t, s, host.CallID(fmt.Sprint(name, i))); err != nil {
					t.Error(err)
				}
				if _, err := s.LoadState(t.Context(), session("shop"), "k"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	all("first")
	killConnections(t, dsn)
	all("second")
	if records, err := s.Records(t.Context(), "shop", RecordFilter{}); err != nil || len(records) != 2*3*mysqlLanes {
		t.Errorf("%d records, %v", len(records), err)
	}
}

func killConnections(t *testing.T, dsn string) {
	t.Helper()
	db, err := mariadb.Server(t).Open(dsn)
	must(t, err)
	defer db.Close()
	rows, err := db.Query("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
	must(t, err)
	defer rows.Close()
	var ids []int
	for rows.Next() {
		var id int
		must(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	for _, id := range ids {
		db.Exec(fmt.Sprint("KILL ", id)) // it may be gone
	}
	if len(ids) < mysqlLanes/2 {
		t.Errorf("only %d connections were there", len(ids))
	}
}

func TestTransactionsThatLockInACircleAllHappen(t *testing.T) {
	s := mariadbDatabase().open(t)
	put(t, s, "shop", "a", "1", "b", "1")
	var ready sync.WaitGroup // both have their first row
	ready.Add(2)
	var wg sync.WaitGroup
	var runs atomic.Int64
	for _, keys := range [][]string{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			first := true
			err := s.writer.do(context.Background(), func(ctx context.Context, ex *executor) error {
				runs.Add(1)
				for i, key := range keys {
					if _, err := ex.exec(ctx, "UPDATE kv SET stamp = stamp + 1 WHERE tenant_id = 'shop' AND namespace = 'n' AND kv_key = ?", key); err != nil {
						return err
					}
					if i == 0 && first {
						first = false
						ready.Done()
						ready.Wait()
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs.Load() != 3 {
		t.Errorf("the two ran %d times; a deadlock makes it three", runs.Load())
	}
}

func TestWhatOthersAreAlwaysInTheWayOfIsAConflict(t *testing.T) {
	s := mariadbDatabase().open(t)
	for name, number := range map[string]uint16{"a lock": 1205, "a deadlock": 1213, "a key": 1062, "TiDB's": 9007} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			err := s.write(t.Context(), "state.Test", func(context.Context, *executor, time.Time) error {
				runs++
				return &mysql.MySQLError{Number: number}
			})
			if problem := wantCode(t, err, abi.StoreConflict); runs != clashTries || problem.Hint == "" {
				t.Errorf("%v after %d runs", err, runs)
			}
		})
	}
	runs := 0
	err := s.write(t.Context(), "state.Test", func(context.Context, *executor, time.Time) error {
		runs++
		return &mysql.MySQLError{Number: 1064}
	})
	if wantCode(t, err, abi.StoreFailure); runs != 1 {
		t.Errorf("what cannot be done was tried %d times", runs)
	}
}

// A server that is killed and started again, over and over: what was confirmed
// is there, what failed is not, and nothing happens twice.
func TestAServerThatIsKilledLosesAndRepeatsNothing(t *testing.T) { killServer(t, 4) }

func killServer(t *testing.T, kills int) {
	server := statetest.Start(t)
	s := openAt(t, server.Database(t), Options{})
	s.writer.search = 2 * time.Minute // so long a server may take to be there again
	const callers = 6
	var confirmed sync.Map
	var stop atomic.Bool
	var done atomic.Int64
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				call := host.CallID(fmt.Sprintf("c-%d-%d", c, i))
				if err := untilKept(s, call); err != nil {
					t.Errorf("%s: %v", call, err)
					return
				}
				confirmed.Store(string(call), true)
				done.Add(1)
			}
		})
	}
	for range kills {
		for before := done.Load(); done.Load() < before+20 && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
		server.Kill()
		server.Restart(t)
	}
	stop.Store(true)
	wg.Wait()
	calls := map[string]bool{}
	confirmed.Range(func(call, _ any) bool { calls[call.(string)] = true; return true })
	checkWhole(t, s, calls)
}

// untilKept makes one durable call, each part again while the store says that
// nothing of it was kept.
func untilKept(s *Store, call host.CallID) error {
	ctx := context.Background()
	ref := host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(call)}
	again := func(part func() error) error {
		for {
			err := part()
			if err == nil || errors.Is(err, ErrUnknownEnd) {
				return err
			}
			switch host.ProblemOf(err).Code {
			case abi.StoreFailure, abi.StoreConflict:
				time.Sleep(5 * time.Millisecond)
			default:
				return err
			}
		}
	}
	if err := again(func() error {
		claim, err := s.Claim(ctx, ClaimRequest{Session: ref, Key: host.Key(call), Digest: "d", Call: call, Lease: time.Hour,
			Intent: host.Record{Call: call, Kind: host.RecordIntent, Detail: []byte(`{}`)}})
		if err == nil && claim.State != ClaimNew {
			err = fmt.Errorf("the claim of a call that was not kept is %q", claim.State)
		}
		return err
	}); err != nil {
		return err
	}
	return again(func() error {
		view := s.View("shop", "n")
		value, _, err := view.Get(ctx, "counter")
		if err != nil {
			return err
		}
		n := 0
		fmt.Sscan(string(value), &n)
		return errors.Join(view.Put("counter", fmt.Append(nil, n+1)), view.Put("call/"+string(call), []byte("1")),
			s.Settle(ctx, Settlement{Session: ref, Call: call, Key: host.Key(call), Outcome: []byte(`"` + string(call) + `"`), Views: []*View{view},
				State: []Change{{Key: "last", Data: []byte(`1`)}}, Records: []host.Record{{Call: call, Kind: host.RecordOutcome}}}))
	})
}
