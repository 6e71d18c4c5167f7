package audit

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

func TestWhatIsSealedVerifies(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		var want int64
		for size := 1; size < 400; size = size*3 + 1 { // across the edges of tiles
			for n := range size {
				r.keep(t, n)
			}
			want += int64(2 * size)
			if got := r.seal(t, "shop"); got != 2*size {
				t.Fatalf("%d records sealed, want %d", got, 2*size)
			}
			r.wantWhole(t, want)
		}
		if got := r.seal(t, "shop"); got != 0 {
			t.Errorf("%d records are sealed twice", got)
		}
	})
}

func TestEachTenantHasALogOfItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		other := host.SessionRef{Tenant: "a/b 价", User: "bob", Session: "s1"}
		r.keep(t, 1)
		must(t, r.Store.Record(t.Context(), call(other, 2)...))
		r.keep(t, 3)
		if r.seal(t, "shop") != 4 || r.seal(t, other.Tenant) != 2 {
			t.Error("the logs have not their own tenant's records")
		}
		r.wantWhole(t, 4)
		if n, err := r.Seal(t.Context(), "nobody"); n != 0 || err != nil {
			t.Errorf("a tenant without records: %d, %v", n, err)
		}
	})
}

// Writers and sequencers at once: whatever a sequencer has not seen when it
// looked is sealed later, and nothing is twice.
func TestNoRecordIsSkippedWhileOthersAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.testOnlyPage = 7
		stores := []*state.Store{r.Store, storeAt(t, r.dsn)}
		const writers, calls = 8, 25
		var writing sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for n := range calls {
					if err := stores[w%2].Record(context.Background(), call(host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(fmt.Sprint("s", w))}, w*calls+n)...); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		var sealing sync.WaitGroup
		for _, store := range stores {
			q := *r.Sequencer
			q.Store = store
			sealing.Go(func() {
				for ended := false; !ended; {
					select {
					case <-done:
						ended = true // once more
					default:
					}
					if _, err := q.Seal(context.Background(), "shop"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writing.Wait()
		close(done)
		sealing.Wait()
		r.wantWhole(t, 2*writers*calls)
	})
}

// A record that is being kept while a later one is already there is waited for.
func TestARecordThatCommitsLateIsNotPassedBy(t *testing.T) {
	r := roomAt(t, mariadb.Database(t))
	r.keep(t, 1)
	db := r.raw(t)
	// A call that has its seq, and the tenant's slot as calls have, and has not committed.
	tx, err := db.Begin()
	must(t, err)
	defer tx.Rollback()
	must(t, r.Store.Record(t.Context(), call(ann, 2)...)) // makes the slot
	var slot int
	must(t, db.QueryRow("SELECT MIN(slot) FROM tenant_slot WHERE tenant_id = 'shop'").Scan(&slot))
	_, err = tx.Exec("UPDATE tenant_slot SET slot = slot WHERE tenant_id = 'shop' AND slot = ?", slot)
	must(t, err)
	_, err = tx.Exec("INSERT INTO audit_record (recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail) VALUES (1, 'shop', 'ann', 's1', 'late', 'notice', '', '', '', '')")
	must(t, err)
	_, err = db.Exec("INSERT INTO audit_record (recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail) VALUES (1, 'shop', 'ann', 's1', 'early', 'notice', '', '', '', '')")
	must(t, err)
	sealed := make(chan int)
	go func() {
		n, err := r.Seal(context.Background(), "shop")
		if err != nil {
			t.Error(err)
		}
		sealed <- n
	}()
	for waiting := 0; waiting == 0; {
		must(t, db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'INSERT INTO tenant_slot%'").Scan(&waiting))
		select {
		case n := <-sealed:
			t.Fatalf("%d records were sealed past one that is being kept", n)
		default:
		}
	}
	must(t, tx.Commit())
	if n := <-sealed; n != 6 {
		t.Errorf("%d records are sealed, want 6", n)
	}
	r.wantWhole(t, 6)
}

// sealUntilKilled is a process of its own.
func sealUntilKilled(dsn string) int {
	s, err := state.Open(context.Background(), dsn, state.Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	q := &Sequencer{Store: s, Keys: KeyFile(os.Getenv(sealedStore + "_KEY")), testOnlyPage: 1}
	for {
		n, err := q.Seal(context.Background(), "shop")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if n > 0 {
			fmt.Println("sealed")
		}
	}
}

func TestASequencerThatIsKilledAnywhereLosesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 0)
		r.seal(t, "shop")
		want := int64(2)
		for kill := range 4 {
			for n := range 100 {
				r.keep(t, 100*kill+n)
			}
			want += 200
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), sealedStore+"="+r.dsn, sealedStore+"_KEY="+string(r.Keys))
			var said strings.Builder
			child.Stdout = &said
			must(t, child.Start())
			for n := int64(0); n == 0; {
				log, _, err := r.Store.LastAuditLog(t.Context(), "shop")
				must(t, err)
				n = max(0, log.Size-(want-200)-int64(20*kill)) // in the middle of it
			}
			must(t, child.Process.Kill())
			child.Wait()
			if strings.Contains(said.String(), "audit") {
				t.Errorf("the process said %s", &said)
			}
			r.seal(t, "shop")
			r.wantWhole(t, want)
		}
	})
}

// Each step is one transaction on the condition of the size that it goes on from.
func TestAStepFromAnotherSizeChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		r.seal(t, "shop")
		log, _, err := r.Store.LastAuditLog(t.Context(), "shop")
		must(t, err)
		for name, was := range map[string]int64{"behind": 1, "ahead": 3, "new": 0} {
			late := log
			late.Size = 5
			err := r.Store.Seal(t.Context(), state.Sealing{Log: late, Was: was, Leaves: []state.AuditLeaf{{Seq: 99, Log: 1, Index: was}}})
			if host.ProblemOf(err).Code != abi.StoreConflict {
				t.Errorf("%s: %v", name, err)
			}
		}
		// One that fails in the middle leaves nothing: the second leaf is there already.
		late := log
		late.Size = 4
		err = r.Store.Seal(t.Context(), state.Sealing{Log: late, Was: 2, Leaves: []state.AuditLeaf{{Seq: 99, Log: 1, Index: 2}, {Seq: 1, Log: 1, Index: 3}}})
		if err == nil {
			t.Error("a record was sealed twice")
		}
		r.keep(t, 2)
		r.seal(t, "shop")
		r.wantWhole(t, 4)
	})
}

func TestASequencerDoesNotBuildOnWhatWasChanged(t *testing.T) {
	for name, change := range map[string]string{
		"the hashes":     "UPDATE audit_tile SET hashes = ?",
		"the checkpoint": "UPDATE audit_log SET checkpoint = ?",
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r room) {
				r.keep(t, 1, 2, 3)
				r.seal(t, "shop")
				r.sql(t, change, []byte(strings.Repeat("x", 6*32)))
				r.keep(t, 4)
				_, err := r.Seal(t.Context(), "shop")
				if problem := host.ProblemOf(err); problem == nil || problem.Code != abi.StoreFailure || !strings.Contains(problem.Hint, "audit verify") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// Whoever stops a host, or a store that is away, has not changed the log.
func TestAStoreThatFailsIsNotTakenForTampering(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1)
	r.seal(t, "shop")
	log, _, err := r.Store.LastAuditLog(t.Context(), "shop")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, sealing := r.goOn(ctx, "shop", log, true)
	_, proving := r.paths(ctx, log, []proved{{}})
	for name, err := range map[string]error{"sealing": sealing, "proving": proving} {
		if problem := host.ProblemOf(err); problem == nil || strings.Contains(problem.Message, "is not the one that was sealed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALastLogThatIsClosedIsDamaged(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		r.seal(t, "shop")
		r.sql(t, "UPDATE audit_log SET closed = 1")
		_, rotating := r.Rotate(t.Context(), "shop")
		r.keep(t, 2)
		_, sealing := r.Seal(t.Context(), "shop")
		for name, err := range map[string]error{"rotating": rotating, "sealing": sealing} {
			if problem := host.ProblemOf(err); problem == nil || problem.Code != abi.StoreFailure || !strings.Contains(problem.Hint, "audit verify") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestWhatSomebodyElseHasSealedIsNotCounted(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1)
	late := *r.Sequencer
	var others int
	late.Now = func() time.Time { // between what it has read and what it keeps
		if others == 0 {
			others = r.seal(t, "shop")
		}
		return clock()
	}
	if n, err := late.Seal(t.Context(), "shop"); n != 0 || err != nil || others != 2 {
		t.Errorf("%d are counted, %v, and %d by who was first", n, err, others)
	}
}

func TestAConflictThatLastsIsLogged(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	for n := range maxLate {
		r.keep(t, n)
	}
	other := *r.Sequencer
	other.testOnlyPage = 1
	var said strings.Builder
	late := other
	late.Log = slog.New(slog.NewTextHandler(&said, nil))
	late.Now = func() time.Time { // somebody else is first each time
		if _, _, err := other.sealSteps(t.Context(), "shop", 1); err != nil {
			t.Error(err)
		}
		return clock()
	}
	one := &run{q: &late, failed: map[host.TenantID]failed{}, again: map[host.TenantID]bool{}}
	one.seal(t.Context(), "shop")
	if !one.again["shop"] || !strings.Contains(said.String(), "tenant=shop") {
		t.Errorf("it is looked at again: %v; it said %q", one.again, &said)
	}
}

// A tenant that has nothing new costs two rows: nobody who is keeping records is
// waited for.
func TestATenantWithNothingNewIsNotWaitedFor(t *testing.T) {
	r := roomAt(t, mariadb.Database(t))
	r.keep(t, 1)
	r.seal(t, "shop")
	tx, err := r.raw(t).Begin()
	must(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("UPDATE tenant_slot SET slot = slot WHERE tenant_id = 'shop'")
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if n, err := r.Seal(ctx, "shop"); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestATenantWithMuchLetsOthersHaveTheirTurn(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.testOnlyPage = 1
	for n := range turnSteps {
		r.keep(t, n)
	}
	one := &run{q: r.Sequencer, failed: map[host.TenantID]failed{}, again: map[host.TenantID]bool{}}
	one.seal(t.Context(), "shop")
	if log, _, err := r.Store.LastAuditLog(t.Context(), "shop"); err != nil || log.Size != turnSteps || !one.again["shop"] {
		t.Errorf("%d are sealed in one turn, to be looked at again: %v; %v", log.Size, one.again, err)
	}
	must(t, one.pass(t.Context()))
	must(t, one.pass(t.Context()))
	r.wantWhole(t, 2*turnSteps)
}

func TestTheKeyStaysInItsFile(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	key, err := r.Keys.Newest()
	must(t, err)
	info, err := os.Stat(string(r.Keys))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %o", info.Mode().Perm())
	}
	text, err := os.ReadFile(string(r.Keys))
	must(t, err)
	private := strings.TrimSpace(string(text))
	if !strings.HasPrefix(private, "PRIVATE+KEY+") {
		t.Fatalf("the file has %q", private)
	}
	for _, said := range []string{fmt.Sprint(key), fmt.Sprintf("%v %+v %#v", key, key, key), key.Public()} {
		if strings.Contains(said, private[len(private)-20:]) {
			t.Errorf("it says its private part: %s", said)
		}
	}
	again, err := r.Keys.Newest()
	if err != nil || again.Public() != key.Public() {
		t.Errorf("the next start has another key: %v", err)
	}
	added, err := r.Keys.Add()
	must(t, err)
	if newest, err := r.Keys.Newest(); err != nil || newest.Public() != added.Public() || added.Public() == key.Public() {
		t.Errorf("the added key is not the newest: %v", err)
	}
	if old, err := r.Keys.For(key.Public()); err != nil || old.Public() != key.Public() {
		t.Errorf("the old key is gone: %v", err)
	}
	must(t, os.Chmod(string(r.Keys), 0o640))
	if _, err := r.Keys.Newest(); host.ProblemOf(err).Code != abi.BadValue || strings.Contains(fmt.Sprint(err), private) {
		t.Errorf("a key that others can read: %v", err)
	}
	must(t, os.Chmod(string(r.Keys), 0o600))
	must(t, os.WriteFile(string(r.Keys), []byte(private[:len(private)-4]+"\n"), 0o600))
	if _, err := r.Keys.Newest(); host.ProblemOf(err).Code != abi.BadValue || strings.Contains(fmt.Sprint(err), private[20:60]) {
		t.Errorf("a damaged key: %v", err)
	}
}

func TestAHostWithAnotherKeySealsNothing(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1)
	r.seal(t, "shop")
	r.keep(t, 2)
	stranger := *r.Sequencer
	stranger.Keys = KeyFile(filepath.Join(t.TempDir(), "key"))
	_, err := stranger.Keys.Newest()
	must(t, err)
	if _, err := stranger.Seal(t.Context(), "shop"); host.ProblemOf(err) == nil || !strings.Contains(host.ProblemOf(err).Hint, "--audit-key") {
		t.Errorf("got %v", err)
	}
	r.seal(t, "shop")
	r.wantWhole(t, 4)
}

// A key that is made in passing would be the only one that can go on from the log.
func TestALogBeginsWithAKeyThatIsThere(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		guest := *r.Sequencer
		guest.MakesKey = false
		_, err := guest.Seal(t.Context(), "shop")
		if problem := host.ProblemOf(err); problem == nil || problem.Code != abi.BadValue || !strings.Contains(problem.Hint, "--audit-key") {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(string(r.Keys)); err == nil {
			t.Error("a key was made")
		}
		if err := guest.CheckKeys(t.Context()); err == nil {
			t.Error("a host without a key may serve")
		}
		r.seal(t, "shop")
		must(t, guest.CheckKeys(t.Context()))
		r.keep(t, 2)
		if n, err := guest.Seal(t.Context(), "shop"); n != 2 || err != nil {
			t.Errorf("with the key: %d, %v", n, err)
		}
		stranger := guest
		stranger.Keys = KeyFile(filepath.Join(t.TempDir(), "key"))
		_, err = stranger.Keys.Newest()
		must(t, err)
		if problem := host.ProblemOf(stranger.CheckKeys(t.Context())); problem == nil || !strings.Contains(problem.Hint, "--audit-key") {
			t.Errorf("a host with another key: %v", problem)
		}
		_, err = r.RotateToNewKey(t.Context(), "shop")
		must(t, err)
		must(t, r.CheckKeys(t.Context()))
	})
}

func TestAKeyIsAddedByOneAtATime(t *testing.T) {
	f := KeyFile(filepath.Join(t.TempDir(), "key"))
	_, err := f.Newest()
	must(t, err)
	var added atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := f.Add()
			switch {
			case err == nil:
				added.Add(1)
			case host.ProblemOf(err).Code != abi.Busy:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	keys, err := f.Publics()
	if must(t, err); int64(len(keys)) != 1+added.Load() || added.Load() == 0 {
		t.Errorf("%d were added, and there are %d", added.Load(), len(keys))
	}
	must(t, os.WriteFile(string(f)+".lock", nil, 0o600))
	if _, err := f.Add(); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.Busy || !strings.Contains(host.ProblemOf(err).Hint, ".lock") {
		t.Errorf("while another adds one: %v", err)
	}
}

// Secrets are mounted as links.
func TestAKeyFileMayBeALink(t *testing.T) {
	dir := t.TempDir()
	mounted, f := KeyFile(filepath.Join(dir, "data")), KeyFile(filepath.Join(dir, "key"))
	key, err := mounted.Newest()
	must(t, err)
	must(t, os.Symlink(string(mounted), string(f)))
	if got, err := f.Existing(); err != nil || got.Public() != key.Public() {
		t.Errorf("got %v, %v", got, err)
	}
	added, err := f.Add()
	must(t, err)
	if got, err := mounted.Existing(); err != nil || got.Public() != added.Public() {
		t.Errorf("the file behind the link has %v, %v", got, err)
	}
	must(t, os.Chmod(string(mounted), 0o644))
	if _, err := f.Existing(); err == nil {
		t.Error("others can read the file behind the link, and it is taken")
	}
}

func TestARotationThatCannotBeAddsNoKey(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	_, err := r.Keys.Newest()
	must(t, err)
	if _, err := r.RotateToNewKey(t.Context(), "shop"); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadValue {
		t.Errorf("got %v", err)
	}
	keys, err := r.Keys.Publics()
	if must(t, err); len(keys) != 1 {
		t.Errorf("there are %d keys", len(keys))
	}
}

func TestTheLagOfALargeBacklogIsNotCountedToItsEnd(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.sql(t, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO audit_record (recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail)
		SELECT i, 'shop', 'ann', 's1', '', 'notice', '', '', '', '' FROM n`, state.MaxBehind+10)
	if lag, err := r.Lag(t.Context()); err != nil || lag.Records != state.MaxBehind || lag.Behind != 1 {
		t.Errorf("lag %+v, %v", lag, err)
	}
}

func TestRunSealsWhatComesAndTellsTheLag(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		lag, err := r.Lag(t.Context())
		if err != nil || lag.Records != 2 || lag.Behind != 1 || lag.Tenants != 1 || lag.Oldest.IsZero() {
			t.Errorf("lag %+v, %v", lag, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stopping := *r.Sequencer
		stopping.Now = func() time.Time { stop(); return clock() } // in the middle of the first step
		if err := stopping.Run(ctx); err == nil {
			t.Error("it goes on when it is stopped")
		}
		one := &run{q: r.Sequencer, failed: map[host.TenantID]failed{}, again: map[host.TenantID]bool{}}
		must(t, one.begin(t.Context()))
		must(t, one.walk(t.Context()))
		for n := 2; n < 5; n++ {
			r.keep(t, n)
			must(t, r.Store.Record(t.Context(), call(host.SessionRef{Tenant: host.TenantID(fmt.Sprint("other", n)), User: "u", Session: "s"}, n)...))
			must(t, one.pass(t.Context()))
			if lag, err = r.Lag(t.Context()); err != nil || lag.Records > 0 {
				t.Fatalf("after a pass: %+v, %v", lag, err)
			}
		}
		if lag.Tenants != 4 || lag.Behind != 0 {
			t.Errorf("lag %+v", lag)
		}
		r.wantWhole(t, 8)
	})
}

// A failure that is over is made good within seconds, with nothing new to come.
func TestWhatFailedIsTriedAgainSoonAndByItself(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	now := clock()
	r.Now = func() time.Time { return now }
	r.keep(t, 1)
	r.seal(t, "shop")
	r.keep(t, 2)
	behind := func() int64 {
		lag, err := r.Lag(t.Context())
		must(t, err)
		return lag.Records
	}
	work := newRun(r.Sequencer)
	must(t, os.Chmod(string(r.Keys), 0o640)) // the host will not use such a key
	must(t, work.walk(t.Context()))
	must(t, os.Chmod(string(r.Keys), 0o600))
	must(t, work.begin(t.Context()))
	work.earlier = work.last // nothing new
	now = now.Add(tryEvery - 1)
	must(t, work.pass(t.Context()))
	if behind() != 2 || work.failure() == nil {
		t.Errorf("%d records are behind, failed %v", behind(), work.failure())
	}
	now = now.Add(1)
	must(t, work.pass(t.Context()))
	if behind() != 0 || work.failure() != nil {
		t.Errorf("%d records are behind, failed %v", behind(), work.failure())
	}
	r.wantWhole(t, 4)
}
