package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// A Size says how much is made and asked.
type Size struct {
	Memories, Users         int
	OneUser, AllUsers, Puts int // how many of each are timed
	Foreign                 int // questions whose answers are checked for whose they are
}

// Usual is the size whose figures have a must and an aim.
func Usual() Size {
	return Size{Memories: 100_000, Users: 1_000, OneUser: 2_000, AllUsers: 500, Puts: 2_000, Foreign: 100_000}
}

// A Scaled is what a store with many memories costs. Times are of the whole way: the
// terms are cut, the store asked or filled, the list ranked.
type Scaled struct {
	Size     Size          `json:"size"`
	Terms    float64       `json:"terms"`      // of a memory, on average
	Rebuild  time.Duration `json:"rebuild_ns"` // of an empty store
	Heap     int64         `json:"heap_bytes"` // that the store keeps
	OneUser  time.Duration `json:"one_user_p95_ns"`
	AllUsers time.Duration `json:"all_users_p95_ns"`
	Put      time.Duration `json:"put_p95_ns"`
	Asked    int           `json:"asked"`
	Found    int           `json:"found"`   // memories that the questions of Foreign found
	Foreign  int           `json:"foreign"` // of them, those of others
}

// Scale makes memories from a seed, fills the store that open gives, and measures it.
func Scale(ctx context.Context, open func() memory.Store, size Size, seed uint64) (Scaled, error) {
	made := newMaker(size, seed)
	before := heap()
	store := open()
	terms, took, err := made.fill(ctx, store)
	result := Scaled{Size: size, Rebuild: took, Terms: float64(terms) / float64(size.Memories)}
	if err != nil {
		return result, err
	}
	result.Heap = heap() - before
	for _, timing := range []struct {
		into  *time.Duration
		times int
		do    func() error
	}{
		{&result.OneUser, size.OneUser, func() error { _, err := made.ask(ctx, store, made.user()); return err }},
		{&result.AllUsers, size.AllUsers, func() error { _, err := made.ask(ctx, store, ""); return err }},
		{&result.Put, size.Puts, func() error { return made.put(ctx, store) }},
	} {
		if *timing.into, err = percentile95(timing.times, timing.do); err != nil {
			return result, err
		}
	}
	if err = made.neighbours(ctx, store); err == nil {
		err = made.countForeign(ctx, store, &result)
	}
	return result, err
}

// heap is what lives after a collection. The second one frees what finalizers held.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func percentile95(times int, do func() error) (time.Duration, error) {
	if times == 0 {
		return 0, nil
	}
	took := make([]time.Duration, times)
	for i := range took {
		began := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[times*95/100], nil
}

// A maker makes memories and questions. The words of a text are of a vocabulary of
// which few words are frequent and most are rare, as in any language; half of the
// users write Chinese.
type maker struct {
	size   Size
	random *rand.Rand
	zipf   *rand.Zipf
	next   int
	of     int // the number of the tenant whose memories are made
}

// tenants have users of the same ids.
func tenants() [2]host.TenantID { return [2]host.TenantID{tenant, "another"} }

func tenantOf(number int) host.TenantID { return tenants()[number%len(tenants())] }

const (
	vocabulary = 40_000
	turnWords  = 18 // of a turn on average; with the turn before some 35 terms
	perSession = 20 // turns
)

func newMaker(size Size, seed uint64) *maker {
	random := rand.New(rand.NewPCG(seed, seed))
	return &maker{size: size, random: random, zipf: rand.NewZipf(random, 1.1, 4, vocabulary-1)}
}

// fill puts all memories, and tells how many terms they have and how long it took to
// cut them and to put them; to make the texts is not counted.
func (m *maker) fill(ctx context.Context, store memory.Store) (terms int, took time.Duration, err error) {
	const batch = 16_384 // as a rebuild from the truth does
	for m.next < m.size.Memories && ctx.Err() == nil {
		drafts := make([]draft, 0, batch)
		for len(drafts) < batch && m.next < m.size.Memories {
			drafts = append(drafts, m.draft())
		}
		began := time.Now()
		entries := finished(drafts)
		if err := store.Put(ctx, entries); err != nil {
			return terms, took, err
		}
		took += time.Since(began)
		for _, e := range entries {
			terms += len(e.Sparse)
		}
	}
	return terms, took, ctx.Err()
}

// A draft is an entry without its terms.
type draft struct {
	memory.Entry
	text string
}

// finished gives drafts their terms, on all cores.
func finished(drafts []draft) []memory.Entry {
	entries := make([]memory.Entry, len(drafts))
	workers := runtime.GOMAXPROCS(0)
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := w; i < len(drafts); i += workers {
				entries[i] = drafts[i].Entry
				entries[i].Sparse = tokens.Document(drafts[i].text)
			}
		})
	}
	done.Wait()
	return entries
}

// draft makes the next memory: the users take turns.
func (m *maker) draft() draft {
	number := m.next % m.size.Users
	turn := m.next / m.size.Users
	m.next++
	user := userOf(number)
	at := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(m.next) * time.Minute)
	chinese := number%2 == 1
	text := memory.TurnText(m.words(chinese, turnWords), string(user), at, m.words(chinese, turnWords))
	return draft{text: text, Entry: memory.Entry{
		ID:     memory.ID(fmt.Sprintf("%08x-%04x-4%03d-8000-%012x", m.random.Uint32(), number, m.of, m.next)),
		Tenant: tenantOf(m.of), User: user, Session: host.SessionID(fmt.Sprintf("session-%d-%d", number, turn/perSession)),
		Entity: fmt.Sprint("sku", m.random.IntN(500)), Platform: "taobao", Kind: memory.Preference, Layer: memory.Declared,
		Status: memory.Active, Order: int64(turn%perSession + 1), At: at,
	}}
}

func userOf(number int) host.UserID { return host.UserID(fmt.Sprint("user-", number)) }

// madeFor reads whose a memory is from its id.
func madeFor(id memory.ID) (host.TenantID, host.UserID) {
	var first, number, of int
	if _, err := fmt.Sscanf(string(id), "%08x-%04x-4%03d-", &first, &number, &of); err != nil {
		return "", ""
	}
	return tenantOf(of), userOf(number)
}

func (m *maker) user() host.UserID { return userOf(m.random.IntN(m.size.Users)) }

// words gives words by their number in the vocabulary.
func (m *maker) words(chinese bool, n int) string {
	var text strings.Builder
	for range n/2 + m.random.IntN(n) {
		word := int(m.zipf.Uint64())
		if chinese {
			text.WriteRune('一' + rune(word/200))
			text.WriteRune('一' + rune(word%200)*50)
			continue
		}
		const letters = "bcdfghklmnprtvwz"
		for ; word > 0; word /= len(letters) {
			text.WriteByte(letters[word%len(letters)])
			text.WriteByte('o')
		}
		text.WriteByte(' ')
	}
	return text.String()
}

const asked = 10 // length of a list

func (m *maker) question() string { return "When " + m.words(m.random.IntN(2) == 1, 8) }

func (m *maker) ask(ctx context.Context, store memory.Store, user host.UserID) ([]memory.Hit, error) {
	return m.askAs(ctx, store, memory.Filter{Tenant: tenant, User: user})
}

func (m *maker) askAs(ctx context.Context, store memory.Store, filter memory.Filter) ([]memory.Hit, error) {
	question := memory.Asked{Text: m.question(), Limit: asked}
	found, err := store.Sparse(ctx, filter, tokens.Query(question.Text), memory.Candidates(asked))
	if err != nil {
		return nil, err
	}
	return memory.Rank(question, found, nil, memory.Measured()), nil
}

// put makes a memory of any user, and puts it.
func (m *maker) put(ctx context.Context, store memory.Store) error {
	m.next += m.random.IntN(m.size.Users)
	d := m.draft()
	d.Sparse = tokens.Document(d.text)
	return store.Put(ctx, []memory.Entry{d.Entry})
}

// neighbours gives the users' namesakes in the other tenant memories, a tenth of theirs.
func (m *maker) neighbours(ctx context.Context, store memory.Store) error {
	m.of, m.size.Memories = 1, m.next+m.size.Memories/10
	_, _, err := m.fill(ctx, store)
	return err
}

// countForeign asks as users of one tenant and of the other.
func (m *maker) countForeign(ctx context.Context, store memory.Store, result *Scaled) error {
	for result.Asked < m.size.Foreign {
		filter := memory.Filter{Tenant: tenantOf(m.random.IntN(len(tenants()))), User: m.user()}
		hits, err := m.askAs(ctx, store, filter)
		if err != nil {
			return err
		}
		result.Asked++
		result.Found += len(hits)
		for _, hit := range hits {
			if t, user := madeFor(hit.ID); hit.User != filter.User || t != filter.Tenant || user != filter.User {
				result.Foreign++
			}
		}
	}
	return nil
}
