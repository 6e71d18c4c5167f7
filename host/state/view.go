package state

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// maxWatched bounds how many rows the scans of one call that writes, and of its
// facts, may have gone over: the writer reads them once more before it commits, and while it
// does so everybody waits.
const maxWatched = 50_000

// A View is what one call sees of one namespace of kv: what is stored, with
// the call's own writes over it. Writes stay in the view until Settle. The
// view remembers the version of every key and of every range that it read, and
// Settle keeps the writes only if none of them has changed, so that calls
// that write are serialisable. A view is for one goroutine.
//
// Keys are UTF-8 without NUL, 1 to abi.KeyBytes bytes, in the order of their
// bytes; anything else is BadHostCall. Too many keys or bytes are QuotaReached;
// see the bounds in abi. Failures of the database are StoreFailure.
type View struct {
	store     *Store
	tenant    host.TenantID
	namespace string
	bad       error // what is wrong with the tenant or the namespace

	layers  []host.TenantID  // the tenant and those it was forked from; nil until its own rows do not answer
	reads   map[string]int64 // key -> stamp of the tenant's own row, 0 for none
	ranges  []watched
	scanned int // rows in ranges
	writes  map[string]pending
	written int // bytes of the values in writes
}

// A pending write is what a view has put or deleted.
type pending struct {
	value   []byte
	deleted bool
}

// A kvRow is a stored row; its stamp is 0 if there is none. A row keeps its
// stamp for life and every write draws a new one, so that equal stamps mean
// the same row even if it was deleted and made again in between.
type kvRow struct {
	key     string
	stamp   int64
	deleted bool
	value   []byte
}

// A watched is a range that was scanned. The number and the sum of its rows'
// stamps tell whether any of them was written, made or removed: whatever is new
// adds a number that nobody could know.
type watched struct {
	from, skip, end string // from is in it unless it is the one to skip; the end is not
	rows            int
	sum             int64
}

// View gives a new view. It reads nothing yet; a tenant or namespace that is
// no id is reported by every use.
func (s *Store) View(tenant host.TenantID, namespace string) *View {
	return &View{store: s, tenant: tenant, namespace: namespace, bad: checkSpace(tenant, namespace)}
}

func checkSpace(tenant host.TenantID, namespace string) error {
	if err := checkID("tenant id", string(tenant)); err != nil {
		return err
	}
	return checkID("kv namespace", namespace)
}

// Reset forgets what the view has read and written, before another attempt.
func (v *View) Reset() {
	*v = View{store: v.store, tenant: v.tenant, namespace: v.namespace, bad: v.bad}
}

// Get gives the value of a key: the view's own write, or what is stored. An
// empty value is found and not nil. The caller must not change it. A key that
// another call has changed since the view read it first is StoreConflict.
func (v *View) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	if value, found, err = v.get(ctx, key); err != nil {
		return nil, false, v.store.fail(ctx, "state.Get", err)
	}
	return value, found, nil
}

func (v *View) get(ctx context.Context, key string) ([]byte, bool, error) {
	if err := v.check(key); err != nil {
		return nil, false, err
	}
	if w, ok := v.writes[key]; ok {
		return w.value, !w.deleted, nil
	}
	row, err := v.store.kvRow(ctx, v.store.reader, v.tenant, v.namespace, key)
	if err == nil {
		err = v.remember(key, row.stamp)
	}
	if err == nil && row.stamp == 0 {
		if err = v.resolve(ctx); err == nil {
			row, err = v.store.inherited(ctx, v.store.reader, v.layers, v.namespace, key)
		}
	}
	if err != nil || row.stamp == 0 || row.deleted {
		return nil, false, err
	}
	return bytesOf(row.value), true, nil
}

func (v *View) check(key string) error {
	if v.bad != nil {
		return v.bad
	}
	if problem := checkKey(key); problem != nil {
		return problem
	}
	return nil
}

func (v *View) resolve(ctx context.Context) (err error) {
	if v.layers == nil {
		v.layers, err = v.store.layers(ctx, v.store.reader, v.tenant)
	}
	return err
}

func (v *View) remember(key string, stamp int64) error {
	if first, ok := v.reads[key]; ok {
		if first != stamp {
			return conflict(key)
		}
		return nil
	}
	if len(v.reads) >= abi.HostCalls {
		return abi.NewProblem(abi.QuotaReached, "the call read more than %d keys", abi.HostCalls)
	}
	if v.reads == nil {
		v.reads = map[string]int64{}
	}
	v.reads[key] = stamp
	return nil
}

func conflict(key string) error {
	return abi.NewProblem(abi.StoreConflict, "another call changed key %q, which this one had read", key)
}

// Put writes a key in the view. It keeps the value, up to abi.ValueBytes,
// without a copy.
func (v *View) Put(key string, value []byte) error {
	return v.set("state.Put", key, pending{value: bytesOf(value)})
}

// Delete removes a key in the view; one that does not exist is no error.
func (v *View) Delete(key string) error {
	return v.set("state.Delete", key, pending{deleted: true})
}

func (v *View) set(op, key string, w pending) error {
	if err := v.check(key); err != nil {
		return v.store.fail(context.Background(), op, err)
	}
	old, again := v.writes[key]
	written := v.written - len(old.value) + len(w.value)
	var problem *abi.Problem
	switch {
	case len(w.value) > int(abi.ValueBytes):
		problem = abi.NewProblem(abi.QuotaReached, "the value of %q has %d bytes; at most %d are stored", key, len(w.value), int(abi.ValueBytes))
	case !again && len(v.writes) >= abi.CallWrites:
		problem = abi.NewProblem(abi.QuotaReached, "one call may write %d keys", abi.CallWrites)
	case written > int(abi.CallWriteBytes):
		problem = abi.NewProblem(abi.QuotaReached, "one call may write %d bytes", int(abi.CallWriteBytes))
	}
	if problem != nil {
		return host.Fail(op, problem, nil)
	}
	if v.writes == nil {
		v.writes = map[string]pending{}
	}
	v.writes[key], v.written = w, written
	return nil
}

// checkSettle says whether the view may take part in a settlement.
func (v *View) checkSettle(s *Store, tenant host.TenantID) error {
	switch {
	case v.bad != nil:
		return v.bad
	case v.store != s || v.tenant != tenant:
		return badValue("a view of tenant %q cannot be settled with a call of tenant %q", v.tenant, tenant)
	}
	return nil
}

// Settleable reports whether a call that writes could be settled with views that
// have read what these have: whether they have not scanned too much to be checked.
// It is cheap, and for the goroutine that the views are of.
func Settleable(views []*View) bool { return scannedBy(views) <= maxWatched }

// scannedBy gives how many rows the scans of views have gone over.
func scannedBy(views []*View) int {
	scanned := 0
	for _, v := range views {
		scanned += v.scanned
	}
	return scanned
}

// verify fails with StoreConflict if something that the view has read is not
// as it was, and with NotAllowed if it may not write. The slots of all of it are
// locked. The layers below the tenant's own are sealed and need no look.
func (v *View) verify(ctx context.Context, ex *executor) error {
	space, err := v.store.kvTenant(ctx, ex, v.tenant)
	if err != nil {
		return err
	}
	if space.sealed && len(v.writes) > 0 {
		return sealedProblem(v.tenant)
	}
	if v.layers != nil && (len(v.layers) > 1) != (space.parent != "") {
		return abi.NewProblem(abi.StoreConflict, "tenant %q became a fork while the call ran", v.tenant)
	}
	for _, key := range slices.Sorted(maps.Keys(v.reads)) {
		var stamp int64
		if _, err := ex.row(ctx, v.store.queries.kvStamp, v.rowArgs(key), &stamp); err != nil {
			return err
		}
		if stamp != v.reads[key] {
			return conflict(key)
		}
	}
	for _, w := range v.ranges {
		if err := v.verifyRange(ctx, ex, w); err != nil {
			return err
		}
	}
	return nil
}

// apply writes what the view has put and deleted.
func (v *View) apply(ctx context.Context, ex *executor) error {
	if len(v.writes) == 0 {
		return nil
	}
	layers := v.layers // verified to be as they were
	for _, key := range slices.Sorted(maps.Keys(v.writes)) {
		w := v.writes[key]
		if w.deleted && layers == nil {
			var err error
			if layers, err = v.store.layers(ctx, ex, v.tenant); err != nil {
				return err
			}
		}
		if err := v.applyWrite(ctx, ex, layers, key, w); err != nil {
			return err
		}
	}
	return nil
}

// applyWrite keeps a row for a deletion only where it hides the parent's. The
// layers are needed for that alone.
func (v *View) applyWrite(ctx context.Context, ex *executor, layers []host.TenantID, key string, w pending) error {
	if w.deleted {
		below, err := v.store.inherited(ctx, ex, layers, v.namespace, key)
		if err != nil {
			return err
		}
		if below.stamp == 0 || below.deleted {
			_, err := ex.exec(ctx, v.store.queries.removeKV, v.rowArgs(key)...)
			return err
		}
	}
	return v.store.putKV(ctx, ex, v.rowArgs(key), w)
}

func (v *View) rowArgs(key string) []any {
	return []any{string(v.tenant), v.namespace, key}
}

func (s *Store) putKV(ctx context.Context, ex *executor, rowArgs []any, w pending) error {
	stamp := 1 + rand.Int64N(math.MaxInt64)
	_, err := ex.exec(ctx, s.queries.putKV, append(rowArgs, stamp, w.deleted, bytesOf(w.value))...)
	return err
}

func (s *Store) kvRow(ctx context.Context, ex *executor, tenant host.TenantID, namespace, key string) (kvRow, error) {
	row := kvRow{key: key}
	_, err := ex.row(ctx, s.queries.kvRow, []any{string(tenant), namespace, key}, &row.stamp, &row.deleted, &row.value)
	return row, err
}
