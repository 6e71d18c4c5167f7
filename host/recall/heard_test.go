package recall

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// What a user declares is found by what they said before it in the same breath, by the
// day, and by who spoke.
func TestADeclarationIsFoundByTheWordsBeforeIt(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "你好")
	r.say(1, "今天连衣裙卖得很好，退货也少。以后每次开场讲10分钟。")
	said := r.declared()
	if len(said) != 1 {
		t.Fatalf("heard %+v", said)
	}
	n := said[0]
	if n.Source.Speaker != memory.UserSpeaks || n.Source.Order != 2 || strings.Contains(n.Text, "连衣裙") {
		t.Errorf("it is %+v", n)
	}
	want := memory.TurnText("今天连衣裙卖得很好，退货也少。", memory.UserSpeaks, r.now(), n.Text)
	if n.IndexText != want {
		t.Errorf("it is found by %q, want %q", n.IndexText, want)
	}
	hits, err := r.Keeper.Recall(t.Context(), keeper.Query{Filter: memory.Filter{Tenant: mia.Tenant, User: mia.User}, Text: "连衣裙"})
	must(t, err)
	if len(hits) != 1 || hits[0].Node.ID != n.ID {
		t.Errorf("by the words before it there is %+v", hits)
	}
	_, recalled, _ := r.say(2, "连衣裙怎么样")
	if len(recalled) != 1 || strings.Contains(recalled[0].Text, "连衣裙") || !strings.Contains(recalled[0].Text, "speaker") {
		t.Errorf("the model reads %+v; it is quoted by its own words alone", recalled)
	}
}

func TestALongBeginningIsLeftOutWhole(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, strings.Repeat("今天连衣裙卖得很好。", 60)+"以后每次开场讲10分钟。")
	if said := r.declared(); len(said) != 1 || strings.Contains(said[0].IndexText, "连衣裙") || !strings.Contains(said[0].IndexText, memory.UserSpeaks) {
		t.Errorf("heard %+v", said)
	}
}
