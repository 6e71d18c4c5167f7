package keeper

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// DefaultPoll is how often a keeper looks for what other replicas wrote: what one
// learned another recalls well within a second, and a look costs one point read.
const DefaultPoll = 200 * time.Millisecond

// A Config is how a keeper works. DB must be set.
type Config struct {
	DB host.Database

	// Store is the index that follows the truth. Nil for a keeper that only reads
	// and changes the truth, such as a command's: it has no Recall.
	Store memory.Store
	// Shared is whether all replicas have one Store: then one of them fills it at a
	// time. Where each has a value of its own that is a memory.SharedStore. One that is
	// not shared is filled anew by Open.
	Shared bool

	// Embedder gives vectors, after the write, and finds memories by meaning, too. Nil
	// for none. It is asked for nothing until a verdict on its model, the terms and the
	// Ranking says that it helps (KeepVerdicts), or where Unjudged asks for no verdict.
	Embedder memory.Embedder
	Unjudged bool

	Now    func() time.Time // time.Now by default; replicas should agree to a second
	Poll   time.Duration    // DefaultPoll by default
	Logger *slog.Logger     // slog.Default() by default

	Ranking memory.Ranking // of hits; memory.Measured() by default

	// InitialTrust is the trust in a domain without traces, 0 to 1; nil for
	// memory.InitialTrust.
	InitialTrust *float64

	// Progress is told by Open how many memories a rebuild has put into the Store so
	// far. May be nil.
	Progress func(done int)

	dutyTime time.Duration // dutyTime by default; less in a test
	tending  time.Duration // tendEvery by default; longer in a test, which such work would disturb
}

// A Keeper keeps the memories of one host: the truth in its database, and an index
// after it. It is safe for concurrent use, also by several keepers, of one process
// or of many, on one database. Every error that it gives is a *host.Error:
// StoreFailure where the database or the index failed and nothing was changed (safe
// to repeat), unless the message says otherwise; BadValue where what it was given is
// out of bounds; NotFound where there is no such memory of that owner; and what each
// method names.
type Keeper struct {
	db       host.Database
	store    memory.Store
	shared   bool
	embedder memory.Embedder
	unjudged bool
	leg      atomic.Pointer[Leg] // never nil once open
	vectors  atomic.Bool         // the truth may have vectors; see hasVectors
	failing  atomic.Int64        // failures of the embedder in a row
	now      func() time.Time
	poll     time.Duration
	log      *slog.Logger
	lock     string // ends a SELECT of a row that the transaction will write
	keyed    bool   // the database has to be told by which key it finds rows; see tx.from
	holder   string // of duties
	dutyTime time.Duration
	tending  time.Duration

	wake    chan struct{} // a commit of this keeper's: look at the outbox now
	toEmbed chan struct{} // there is something to embed
	follow  follower
	doubted atomic.Bool // a shared index was not there when it was searched or written
	uses    uses

	ranking      memory.Ranking
	initialTrust float64

	stop  context.CancelFunc
	ended sync.WaitGroup
	shut  atomic.Bool
}

// An Owner is whose memories are meant. Every key has both parts.
type Owner struct {
	Tenant host.TenantID `json:"tenant"`
	User   host.UserID   `json:"user"`
}

func (o Owner) check() error {
	if err := (host.SessionRef{Tenant: o.Tenant, User: o.User, Session: "any"}).Valid(); err != nil {
		return badValue("%s", err)
	}
	return nil
}

// Open brings the keeper's tables up to date, fills the Store anew where it is not
// what this keeper makes (see Rebuild), and starts to follow the outbox. A shared Store
// that another replica has in hand it leaves to that one, see Ready. The caller closes
// the keeper, then the Store, then the database.
func Open(ctx context.Context, c Config) (*Keeper, error) {
	const op = "keeper.Open"
	k := &Keeper{
		db: c.DB, store: c.Store, shared: c.Shared, embedder: c.Embedder, unjudged: c.Unjudged, now: c.Now, poll: c.Poll, log: c.Logger, holder: host.NewID("keeper_"),
		wake: make(chan struct{}, 1), toEmbed: make(chan struct{}, 1), ranking: c.Ranking, initialTrust: memory.InitialTrust,
	}
	if k.db.Write == nil || k.db.Reads == nil || k.db.Migrate == nil {
		return nil, fail(op, badValue("the keeper has no database"))
	}
	if c.InitialTrust != nil {
		k.initialTrust = *c.InitialTrust
	}
	if !(k.initialTrust >= 0 && k.initialTrust <= 1) {
		return nil, fail(op, badValue("an initial trust of %v; give 0 to 1", k.initialTrust))
	}
	k.dutyTime, k.tending = cmp.Or(c.dutyTime, dutyTime), cmp.Or(c.tending, tendEvery)
	if k.ranking == (memory.Ranking{}) {
		k.ranking = memory.Measured()
	}
	if k.now == nil {
		k.now = time.Now
	}
	if k.poll <= 0 {
		k.poll = DefaultPoll
	}
	if k.log == nil {
		k.log = slog.Default()
	}
	if k.db.Dialect == host.MySQL {
		k.lock = " FOR UPDATE"
	}
	k.keyed = k.db.Dialect == host.SQLite
	if err := k.migrate(ctx); err != nil {
		return nil, fail(op, err)
	}
	if err := k.start(ctx, c.Progress); err != nil {
		return nil, fail(op, err)
	}
	return k, nil
}

// start fills the index and starts what goes on in the background.
func (k *Keeper) start(ctx context.Context, progress func(int)) error {
	k.look(ctx)
	if k.leg.Load() == nil {
		return ctx.Err()
	}
	if k.store != nil {
		if err := k.followFrom(ctx, progress); err != nil {
			return err
		}
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop = stop
	k.ended.Go(func() { k.tend(running) })
	if k.store != nil {
		k.ended.Go(func() { k.followOutbox(running) })
	}
	if k.embedder != nil {
		k.ended.Go(func() { k.embedAll(running) })
	}
	if k.embedder != nil && !k.unjudged {
		k.ended.Go(func() { k.followVerdict(running) })
	}
	return nil
}

// Close ends what goes on in the background and keeps the counts of recalls. It does
// not close the Store or the database. Calling it again does nothing.
func (k *Keeper) Close() error {
	if k.shut.Swap(true) {
		return nil
	}
	k.stop()
	k.ended.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := k.keepCounts(ctx)
	return fail("keeper.Close", errors.Join(err, k.giveUpDuties(ctx)))
}

// closeTime bounds what Close still writes: a row for each memory that was recalled
// in the last seconds.
const closeTime = 10 * time.Second

// Intervals of the background work.
const (
	countsEvery = 5 * time.Second  // between writes of recall counts: a crash loses that much of them
	tendEvery   = 30 * time.Second // between looks for old lines of the outbox and for files to scrub
)

// tend does what nobody waits for.
func (k *Keeper) tend(ctx context.Context) {
	counting, tending := time.NewTicker(countsEvery), time.NewTicker(k.tending)
	defer counting.Stop()
	defer tending.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-counting.C:
			err = k.keepCounts(ctx)
		case <-tending.C:
			err = errors.Join(k.trim(ctx, OutboxAge), k.scrubLeft(ctx))
		}
		if err != nil && ctx.Err() == nil {
			k.log.Warn("memories: work in the background failed; it goes on", "error", err)
		}
	}
}

// A tx is one transaction that changes the truth. It has the head's row locked, so
// that there is one at a time on a database, and what it reads nobody changes.
type tx struct {
	on    host.Statements
	lock  string
	keyed bool
	at    time.Time
	no    int64 // the last number given; see next
	embed *bool // whether new text needs a vector, once that was looked up
	wrote bool  // a line of the outbox
}

const (
	headOf   = "SELECT last_no, trimmed, scrub_to, scrubbed FROM memory_head WHERE head_no = 1"
	moveHead = "UPDATE memory_head SET last_no = ? WHERE head_no = 1"
	addLine  = "INSERT INTO memory_outbox (line_no, written_at, tenant_id, user_id, memory_id) VALUES (?, ?, ?, ?, ?)"

	oneMoreLine = ", (?, ?, ?, ?, ?)"
)

// A head is the row that every change locks.
type head struct{ last, trimmed, scrubTo, scrubbed int64 }

func readHead(ctx context.Context, on host.Statements, lock string) (h head, err error) {
	_, err = row(ctx, on, headOf+lock, nil, &h.last, &h.trimmed, &h.scrubTo, &h.scrubbed)
	return h, err
}

// change runs one transaction that changes the truth, and has this keeper's
// follower look at it. run may run again from its beginning.
func (k *Keeper) change(ctx context.Context, run func(ctx context.Context, t *tx) error) error {
	var wrote bool
	err := k.db.Write(ctx, func(ctx context.Context, on host.Statements) error {
		h, err := readHead(ctx, on, k.lock)
		if err != nil {
			return err
		}
		t := &tx{on: on, lock: k.lock, keyed: k.keyed, at: k.now().UTC().Truncate(time.Microsecond), no: h.last}
		if err := run(ctx, t); err != nil {
			return err
		}
		wrote = t.wrote
		if t.no == h.last {
			return nil
		}
		_, err = exec(ctx, on, moveHead, t.no)
		return err
	})
	if err == nil && wrote {
		signal(k.wake)
		signal(k.toEmbed)
	}
	return err
}

// next gives a number that is greater than all before it, and that nobody sees
// before those are seen.
func (t *tx) next() int64 {
	t.no++
	return t.no
}

// touched tells the followers that a memory is not what it was.
func (t *tx) touched(ctx context.Context, o Owner, id memory.ID) error {
	t.wrote = true
	_, err := exec(ctx, t.on, addLine, t.next(), t.at.UnixMicro(), string(o.Tenant), string(o.User), string(id))
	return err
}

// touchedAll tells it of several memories, in few statements of few lengths.
func (t *tx) touchedAll(ctx context.Context, o Owner, ids []memory.ID) error {
	for some := range slices.Chunk(ids, shortList) {
		if len(some) < shortList {
			for _, id := range some {
				if err := t.touched(ctx, o, id); err != nil {
					return err
				}
			}
			continue
		}
		var lines []any
		for _, id := range some {
			lines = append(lines, t.next(), t.at.UnixMicro(), string(o.Tenant), string(o.User), string(id))
		}
		t.wrote = true
		if _, err := exec(ctx, t.on, addLine+strings.Repeat(oneMoreLine, shortList-1), lines...); err != nil {
			return err
		}
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is known already
	}
}

func badValue(format string, args ...any) *abi.Problem {
	return abi.NewProblem(abi.BadValue, format, args...)
}

func noMemory(id memory.ID) error {
	return abi.NewProblem(abi.NotFound, "there is no memory %.80q of this user", string(id)).WithHint("list the user's memories to see their ids")
}

// fail gives every error that leaves the keeper its problem. Nil stays nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	var failed *host.Error
	var problem *abi.Problem
	switch {
	case errors.As(err, &failed):
		return host.Fail(op, failed.Problem, err)
	case errors.As(err, &problem):
		return host.Fail(op, problem, nil)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return host.Fail(op, nil, err)
	}
	return host.Fail(op, abi.NewProblem(abi.StoreFailure, "the memories could not be read or written").WithHint("try again"), err)
}
