package recall

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
)

// read gives in one text what the model reads of memories.
func (r *rig) read(n int, words string) string {
	r.t.Helper()
	_, recalled, _ := r.say(n, words)
	var all strings.Builder
	for _, m := range recalled {
		fmt.Fprintln(&all, m.Text)
	}
	return all.String()
}

// With the first words of a session comes what matters in its scene, once, as data.
func TestASessionBeginsWithWhatMattersInItsScene(t *testing.T) {
	const live, planning, anywhere, product = "opens with a joke", "plans on Mondays", "short sentences please", "the red one sells well"
	keep := func(t *testing.T) *rig {
		r := newRig(t, shop)
		r.kept(1, memory.Node{Text: live, Scene: "live"})
		r.kept(1, memory.Node{Text: planning, Scene: "planning"})
		r.kept(1, memory.Node{Text: anywhere})
		r.kept(1, memory.Node{Text: product, Entity: "1001"})
		must(t, r.Keeper.Sync(t.Context()))
		return r
	}
	r := keep(t)
	r.live = "L1"
	begins := r.read(1, "你好")
	for text, want := range map[string]bool{live: true, anywhere: true, planning: false, product: false} {
		if strings.Contains(begins, text) != want {
			t.Errorf("a session of a live begins with %q; %q in it: %v", begins, text, !want)
		}
	}
	if !strings.Contains(begins, `"text":"`+live) {
		t.Errorf("what is brought is not quoted: %q", begins)
	}
	if again := r.read(1, "再见"); again != "" {
		t.Errorf("the second words bring %q", again)
	}
	if begins := keep(t).read(2, "你好"); !strings.Contains(begins, anywhere) || strings.Contains(begins, live) || strings.Contains(begins, planning) {
		t.Errorf("a session of no live begins with %q", begins)
	}
}

// At a decision point stands what is known of its domain and of the product, whatever
// the words; away from it that does not.
func TestADecisionHasWhatIsKnownOfItsMatter(t *testing.T) {
	r := newRig(t, shop)
	r.input = 4 // of a session that has begun
	r.kept(1, memory.Node{Text: "ends in nine", Domain: "pricing"})
	r.kept(1, memory.Node{Text: "speaks slowly", Domain: "pacing"})
	r.kept(1, memory.Node{Text: "keeps a margin of a third", Entity: "1001"})
	r.kept(1, memory.Node{Text: "paid twelve for it", Entity: "1001", Layer: memory.Fact})
	r.kept(1, memory.Node{Text: "paid thirteen for that", Entity: "1002", Layer: memory.Fact})
	must(t, r.Keeper.Sync(t.Context()))
	if away := r.read(1, "库存还有多少"); away != "" {
		t.Errorf("away from decisions there is %q", away)
	}
	at := r.read(1, "商品1001怎么定价")
	for text, want := range map[string]bool{"ends in nine": true, "margin": true, "twelve": true, "slowly": false, "thirteen": false} {
		if strings.Contains(at, text) != want {
			t.Errorf("the decision has %q; %q in it: %v", at, text, !want)
		}
	}
}

// What is brought takes the room that is left, the user's own words first.
func TestWhatIsBroughtKeepsToItsBounds(t *testing.T) {
	r := newRig(t, shop)
	r.live = "L1"
	for i := range 3 * broughtMore {
		r.kept(i+1, memory.Node{Text: fmt.Sprintf("does this %d", i), Scene: "live", Layer: memory.Behaviour})
	}
	r.kept(300, memory.Node{Text: "said so", Scene: "live"})
	must(t, r.Keeper.Sync(t.Context()))
	_, recalled, _ := r.say(1, "你好")
	if len(recalled) != broughtMore || !strings.Contains(recalled[0].Text, "said so") || !strings.Contains(recalled[1].Text, "this 0") {
		t.Errorf("%d are brought: %+v", len(recalled), recalled)
	}
}

// What is brought is worth what the tenant's policy says, as for the job that archives.
func TestWhatIsBroughtIsWeighedByThePolicy(t *testing.T) {
	for first, set := range map[string]*Forgetting{"opens with a joke": nil, "sells red ones": {HalfLifeDays: map[memory.Freshness]float64{memory.Slow: 0.5}}} {
		r := newRig(t, Settings{Forget: set})
		r.kept(10, memory.Node{Text: "opens with a joke", Scene: "live", Freshness: memory.Slow})
		r.kept(10, memory.Node{Text: "sells red ones", Scene: "live", Freshness: memory.Fast})
		must(t, r.Keeper.Sync(t.Context()))
		r.live = "L1"
		if _, recalled, _ := r.say(1, "你好"); len(recalled) != 2 || !strings.Contains(recalled[0].Text, first) {
			t.Errorf("%s is not first of %+v", first, recalled)
		}
	}
}

// rememberMany has mia's memory keep more than is looked at, a second apart, oldest first.
func (r *rig) rememberMany(n memory.Node) {
	r.t.Helper()
	for base := 0; base <= keeper.MaxNewest; base += keeper.MaxRemember {
		var some []memory.Node
		for i := range keeper.MaxRemember {
			n.Text, n.At = fmt.Sprintf("%s number %d", n.Scene, base+i), r.now().Add(time.Duration(base+i)*time.Second-2*keeper.MaxNewest*time.Second)
			some = append(some, n)
		}
		_, err := r.Keeper.Remember(r.t.Context(), mia, some)
		must(r.t, err)
	}
}

// Who has said more than is looked at is known by what was said last.
func TestTheNewestCountsBesideMoreThanIsRead(t *testing.T) {
	r := newRig(t, shop)
	r.rememberMany(memory.Node{Scene: "planning", Layer: memory.Declared, Kind: memory.Preference, Trust: .5})
	r.kept(0, memory.Node{Text: "said just now", Scene: "live"})
	must(t, r.Keeper.Sync(t.Context()))
	r.live = "L1"
	if begins := r.read(1, "你好"); !strings.Contains(begins, "said just now") {
		t.Errorf("a session begins with %q", begins)
	}
	scenes, err := scenesSince(t.Context(), r.Keeper, mia, r.now().Add(-time.Minute))
	if must(t, err); !slices.Equal(scenes, []string{"live"}) {
		t.Errorf("the scenes in use are %q", scenes)
	}
}

// A stuck database answers nothing about whole layers, as long as somebody waits for it.
type stuck struct{ host.Statements }

func (s stuck) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.Contains(query, "layer IN") || strings.Contains(query, "layer = ?") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Statements.QueryContext(ctx, query, args...)
}

// What would be nice to have takes nothing from what must be kept to.
func TestConstraintsComeThoughNothingElseCanBeBrought(t *testing.T) {
	r := newRig(t, shop)
	r.kept(1, memory.Node{Text: "opens with a joke", Scene: "live"})
	_, err := r.Keeper.Remember(t.Context(), mia, []memory.Node{{Text: "never below fifty", Layer: memory.Declared, Kind: memory.Constraint, Trust: .8, At: r.now()}})
	must(t, err)
	must(t, r.Keeper.Close())
	db := r.store.Database()
	db.Reads = stuck{db.Reads}
	slow, err := keeper.Open(t.Context(), keeper.Config{DB: db, Store: index.New(), Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, slow.Close()) })
	r.Keeper = slow
	if bringTime >= turnTime {
		t.Errorf("the search has %s of the hook's %s", bringTime, turnTime)
	}
	list := r.Hooks()
	for i := range list {
		list[i].Time = time.Minute // what else the hook does is in time
	}
	hooks, err := host.NewHooks(list...)
	must(t, err)
	in, err := hooks.PreReasoning(t.Context(), host.Reasoning{Session: session(2), Live: "L1", Input: firstInput, Round: 1, Said: "你好", SaidAt: r.now()})
	if err != nil || len(in[0].Recalled) != 1 || !strings.Contains(in[0].Recalled[0].Text, "never below fifty") {
		t.Errorf("%+v, %v", in, err)
	}
}
