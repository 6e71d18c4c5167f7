package memorytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// refused fails unless an error is one of the caller's own making.
func (r *rig) refused(what string, err error) {
	r.Helper()
	var failed *host.Error
	if !errors.As(err, &failed) {
		r.Errorf("%s: got %v, want an error of host.Fail", what, err)
		return
	}
	if failed.Problem.Code.Class() != abi.ClassArguments {
		r.Errorf("%s: got %v, want a problem of the class of arguments", what, err)
	}
}

func refusesBadEntries(r *rig) {
	nan := float32(math.NaN())
	for what, spoil := range map[string]option{
		"no tenant":                   func(e *memory.Entry) { e.Tenant = "" },
		"no user":                     func(e *memory.Entry) { e.User = "" },
		"no id":                       func(e *memory.Entry) { e.ID = "" },
		"a short vector":              func(e *memory.Entry) { e.Dense = e.Dense[:Dimensions-1] },
		"a long vector":               func(e *memory.Entry) { e.Dense = append(e.Dense, 0) },
		"a vector of none":            func(e *memory.Entry) { e.Dense = []float32{} },
		"a vector of no number":       func(e *memory.Entry) { e.Dense[1] = nan },
		"a vector that is infinite":   func(e *memory.Entry) { e.Dense[1] = float32(math.Inf(1)) },
		"a weight that is no number":  func(e *memory.Entry) { e.Sparse[0].Weight = nan },
		"a weight that is infinite":   func(e *memory.Entry) { e.Sparse[0].Weight = float32(math.Inf(1)) },
		"a weight that is below zero": func(e *memory.Entry) { e.Sparse[0].Weight = -1 },
	} {
		bad := entry("bad", toward(1))
		spoil(&bad)
		r.refused(what, r.store.Put(r.Context(), []memory.Entry{entry("good", toward(1)), bad}))
		r.want(what+" keeps nothing", r.sparse(ofShop, terms(1, 1), 10))
		r.state(memory.StoreState{Version: "version of the suite"})
	}
	r.refused("a delete without a tenant", r.store.Delete(r.Context(), "", []memory.ID{"a"}))
	r.refused("a version of none", r.store.Reset(r.Context(), ""))
	r.state(memory.StoreState{Version: "version of the suite"})
}

func refusesBadQuestions(r *rig) {
	r.put(entry("a", toward(1)))
	ask := func(f memory.Filter, weight float32) error {
		_, err := r.store.Sparse(r.Context(), f, terms(1, weight), 10)
		return err
	}
	askDense := func(f memory.Filter, query []float32) error {
		_, err := r.store.Dense(r.Context(), f, query, 10)
		return err
	}
	r.refused("no tenant", ask(memory.Filter{User: ann}, 1))
	r.refused("no tenant, by cosine", askDense(memory.Filter{User: ann}, direction(1)))
	r.refused("a weight that is no number", ask(ofShop, float32(math.NaN())))
	r.refused("a short vector", askDense(ofShop, direction(1)[:Dimensions-1]))
	r.refused("a long vector", askDense(ofShop, append(direction(1), 0)))
	r.refused("no vector", askDense(ofShop, nil))
	spoilt := direction(1)
	spoilt[0] = float32(math.NaN())
	r.refused("a vector of no number", askDense(ofShop, spoilt))
}

func stops(r *rig) {
	r.put(entry("a", toward(1)))
	cancelled, late := stopped(r.Context())
	for code, ctx := range map[abi.Code]context.Context{abi.Cancelled: cancelled, abi.Deadline: late} {
		_, sparse := r.store.Sparse(ctx, ofShop, terms(1, 1), 10)
		_, dense := r.store.Dense(ctx, ofShop, direction(1), 10)
		_, state := r.store.State(ctx)
		for what, err := range map[string]error{
			"Put": r.store.Put(ctx, []memory.Entry{entry("b")}), "Delete": r.store.Delete(ctx, shop, []memory.ID{"a"}),
			"Reset": r.store.Reset(ctx, "another"), "Sparse": sparse, "Dense": dense, "State": state,
		} {
			if err == nil || host.ProblemOf(err).Code != code {
				r.Errorf("%s: got %v, want a problem %d", what, err, code)
			}
		}
	}
	r.want("after all that", r.sparse(ofShop, terms(1, 1), 10), "a")
	r.state(memory.StoreState{Version: "version of the suite", Entries: 1})
}

// showsAtOnce lets one write and others read what they were told of.
func showsAtOnce(r *rig) {
	told := make(chan memory.ID)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for id := range told {
				found, err := r.store.Sparse(r.Context(), memory.Filter{Tenant: shop, Entity: string(id)}, terms(1, 1), 10)
				if err != nil || len(found) != 1 || found[0].ID != id {
					r.Errorf("%s was put, and found is %+v (%v)", id, found, err)
				}
			}
		})
	}
	for i := range 100 {
		e := entry(memory.ID(fmt.Sprint("e", i)))
		e.Entity = string(e.ID)
		if err := r.store.Put(r.Context(), []memory.Entry{e}); err != nil {
			r.Error(err)
			break
		}
		told <- e.ID
	}
	close(told)
	readers.Wait()
	for i := range 100 {
		id := memory.ID(fmt.Sprint("e", i))
		r.delete(shop, id)
		r.want("a deleted one", r.sparse(memory.Filter{Tenant: shop, Entity: string(id)}, terms(1, 1), 10))
	}
}

// worksConcurrently lets writers change entries of their own while readers
// search. A reader sees whole entries of the right tenant, whatever else.
func worksConcurrently(r *rig) {
	const writers, rounds, each = 8, 12, 10
	stop := make(chan struct{})
	var reading, writing sync.WaitGroup
	for i := range 4 {
		reading.Go(func() { r.readWhole(host.TenantID(fmt.Sprint("tenant ", i)), stop) })
	}
	for w := range writers {
		writing.Go(func() {
			for round := range rounds {
				if err := r.writeRound(w, round, each); err != nil {
					r.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	r.state(memory.StoreState{Version: "version of the suite", Entries: writers * each / 2})
	for w := range writers {
		f := memory.Filter{Tenant: host.TenantID(fmt.Sprint("tenant ", w%4)), User: host.UserID(fmt.Sprint("user ", w))}
		found := r.sparse(f, terms(1, 1), 100)
		if len(found) != each/2 {
			r.Errorf("writer %d left %d entries", w, len(found))
		}
		for _, hit := range found {
			if hit.Order != rounds-1 {
				r.Errorf("writer %d left the entry %+v", w, hit)
			}
		}
	}
}

// writeRound puts the entries of a writer, each told by its user and session to
// be of one piece, and deletes every second one.
func (r *rig) writeRound(writer, round, each int) error {
	var entries []memory.Entry
	var gone []memory.ID
	for i := range each {
		e := entry(memory.ID(fmt.Sprintf("w%d e%d", writer, i)), toward(1, float32(writer)))
		e.Tenant, e.User = host.TenantID(fmt.Sprint("tenant ", writer%4)), host.UserID(fmt.Sprint("user ", writer))
		e.Order, e.Session = int64(round), host.SessionID(fmt.Sprintf("%s in round %d", e.User, round))
		entries = append(entries, e)
		if i%2 == 1 {
			gone = append(gone, e.ID)
		}
	}
	if err := r.store.Put(r.Context(), entries); err != nil {
		return err
	}
	return r.store.Delete(r.Context(), entries[0].Tenant, gone)
}

func (r *rig) readWhole(tenant host.TenantID, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		found, err := r.store.Sparse(r.Context(), memory.Filter{Tenant: tenant}, terms(1, 1), 100)
		if err != nil {
			r.Error(err)
			return
		}
		for _, f := range found {
			if want := host.SessionID(fmt.Sprintf("%s in round %d", f.User, f.Order)); f.Session != want {
				r.Errorf("found half an entry: %+v", f)
			}
		}
	}
}

func closes(r *rig) {
	r.put(entry("a", toward(1)))
	r.must(r.store.Close())
	_ = r.store.Close() // may fail, and may not break
	if err := r.store.Put(r.Context(), []memory.Entry{entry("b")}); err == nil {
		r.Error("a closed index takes entries")
	}
	if found, err := r.store.Sparse(r.Context(), ofShop, terms(1, 1), 10); err == nil {
		r.Errorf("a closed index finds %+v", found)
	}
	if found, err := r.store.Dense(r.Context(), ofShop, direction(1), 10); err == nil {
		r.Errorf("a closed index finds %+v by cosine", found)
	}
	if err := r.store.Delete(r.Context(), shop, []memory.ID{"a"}); err == nil {
		r.Error("a closed index deletes")
	}
}
