package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A Kept is what memories cost whom they serve: through a keeper, from the words to the
// row that is durable, and from the question to the texts as they are in the truth.
type Kept struct {
	Size     Size          `json:"size"`
	Remember time.Duration `json:"remember_p95_ns"` // one memory, durable
	OneUser  time.Duration `json:"one_user_p95_ns"`
	AllUsers time.Duration `json:"all_users_p95_ns"` // of one tenant
	Rebuild  time.Duration `json:"rebuild_ns"`       // of the index, from the truth
	Asked    int           `json:"asked"`
	Found    int           `json:"found"`   // memories that the questions of Foreign found
	Foreign  int           `json:"foreign"` // of them, those of others
}

// Keep fills a keeper, which must be empty and have an index, with memories from a seed,
// and measures it. A tenth of the users have namesakes in another tenant, with as many on
// top. Progress is told how many memories are kept and questions asked so far; it may be nil.
func Keep(ctx context.Context, k *keeper.Keeper, size Size, seed uint64, progress func(done int)) (Kept, error) {
	if progress == nil {
		progress = func(int) {}
	}
	made, result := newMaker(size, seed), Kept{Size: size}
	if err := made.keep(ctx, k, progress); err != nil {
		return result, err
	}
	for _, timing := range []struct {
		into  *time.Duration
		times int
		do    func() error
	}{
		{&result.Rebuild, 1, func() error { return k.Rebuild(ctx, nil) }},
		{&result.OneUser, size.OneUser, func() error { _, err := made.recall(ctx, k, made.owner()); return err }},
		{&result.AllUsers, size.AllUsers, func() error { _, err := made.recall(ctx, k, keeper.Owner{Tenant: tenant}); return err }},
		{&result.Remember, size.Puts, func() error {
			o := made.owner()
			_, err := k.Remember(ctx, o, []memory.Node{made.node(o, made.random.IntN(size.Memories))})
			return err
		}},
	} {
		var err error
		if *timing.into, err = percentile95(timing.times, timing.do); err != nil {
			return result, err
		}
	}
	return result, made.countForeignKept(ctx, k, &result, progress)
}

// keep has each owner remember what is theirs.
func (m *maker) keep(ctx context.Context, k *keeper.Keeper, progress func(done int)) error {
	var owners []keeper.Owner
	for of, users := range []int{m.size.Users, m.size.Users / 10} {
		for number := range users {
			owners = append(owners, keeper.Owner{Tenant: tenantOf(of), User: userOf(number)})
		}
	}
	each := m.size.Memories / m.size.Users
	for i, o := range owners {
		nodes := make([]memory.Node, each)
		for turn := range nodes {
			nodes[turn] = m.node(o, turn)
		}
		for some := range slices.Chunk(nodes, keeper.MaxRemember) {
			if _, err := k.Remember(ctx, o, some); err != nil {
				return err
			}
		}
		progress((i + 1) * each)
	}
	return k.Sync(ctx)
}

func (m *maker) owner() keeper.Owner { return keeper.Owner{Tenant: tenant, User: m.user()} }

// node makes a memory of an owner, whose session tells whose it is.
func (m *maker) node(o keeper.Owner, turn int) memory.Node {
	m.next++
	chinese := m.random.IntN(2) == 1
	text := m.words(chinese, turnWords)
	at := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(m.next) * time.Minute)
	return memory.Node{Text: text, IndexText: memory.TurnText(m.words(chinese, turnWords), string(o.User), at, text),
		Layer: memory.Declared, Kind: memory.Preference, Trust: memory.DeclaredTrust, Entity: fmt.Sprint("sku", m.random.IntN(500)), At: at,
		Source: memory.Source{Session: host.SessionID(fmt.Sprintf("%s%d", sessionsOfOwner(o), turn/perSession)), Order: int64(turn%perSession + 1)}}
}

func sessionsOfOwner(o keeper.Owner) string { return fmt.Sprintf("%s/%s/", o.Tenant, o.User) }

// recall asks as an owner, or as all users of a tenant where the owner has no user.
func (m *maker) recall(ctx context.Context, k *keeper.Keeper, o keeper.Owner) ([]keeper.Hit, error) {
	return k.Recall(ctx, keeper.Query{Filter: memory.Filter{Tenant: o.Tenant, User: o.User}, AllUsers: o.User == "", Text: m.question(), Limit: asked, Quiet: true})
}

// countForeignKept asks as users of one tenant and of the other.
func (m *maker) countForeignKept(ctx context.Context, k *keeper.Keeper, result *Kept, progress func(done int)) error {
	for result.Asked < m.size.Foreign {
		o := keeper.Owner{Tenant: tenantOf(m.random.IntN(len(tenants()))), User: m.user()}
		hits, err := m.recall(ctx, k, o)
		if err != nil {
			return err
		}
		result.Asked++
		result.Found += len(hits)
		for _, hit := range hits {
			if hit.Node.Tenant != o.Tenant || hit.Node.User != o.User || !strings.HasPrefix(string(hit.Node.Source.Session), sessionsOfOwner(o)) {
				result.Foreign++
			}
		}
		progress(m.next + result.Asked)
	}
	return nil
}
