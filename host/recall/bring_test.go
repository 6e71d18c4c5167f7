package recall

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/memory"
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
