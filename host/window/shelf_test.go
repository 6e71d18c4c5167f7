package window

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/model"
)

func TestFewToolsAreAllShown(t *testing.T) {
	shelf := NewShelf([]*manifest.Skill{shopSkill(), airlineSkill(t)}, nil, 0)
	shown := shelf.Choose(Shown{}, []model.Message{user("hi")}, "")
	tools := shelf.Tools(shown)
	if len(tools) != 22 || tools[0].Name != "find_products" || tools[0].Effect != abi.Read || len(tools[0].Examples) != 2 || len(tools[0].Parameters) == 0 || len(shelf.Skills(shown)) != 2 {
		t.Errorf("%d tools of %d skills are shown", len(tools), len(shelf.Skills(shown)))
	}
	if _, is := shelf.Answer(model.Call{Tool: SearchTool, Args: `{"query":"x"}`}); is {
		t.Error("there is a search without need")
	}
}

func TestShownToolsAreOnlyAddedTo(t *testing.T) {
	shelf := NewShelf(crowd(t), []string{"list_coupons", "no_such_tool"}, 0)
	var shown Shown
	var talk []model.Message
	anew := 0
	for _, words := range []string{"book a flight from JFK to SEA", "what is on stage?", "switch to product 1001", "I need a hotel room, too", "and a rental car", "把 1001 改到 89 元", "cancel the cruise", "会员积分查询"} {
		talk = append(talk, user(words))
		next := shelf.Choose(shown, talk, "on-live")
		if !slices.Contains(next.Tools, "list_coupons") || len(next.Tools) > DefaultTools-1 {
			t.Errorf("%q shows %v", words, next.Tools)
		}
		if len(shown.Tools) > 0 && !slices.Equal(next.Tools[:min(len(next.Tools), len(shown.Tools))], shown.Tools) {
			anew++
		}
		again := shelf.Choose(next, append(talk, says("Let me see.")), "on-live")
		if !slices.Equal(again.Tools, next.Tools) {
			t.Errorf("inside the turn %v becomes %v", next.Tools, again.Tools)
		}
		shown = next
		talk = append(talk, says("ok"))
	}
	if anew > 4 { // each turn is about something else
		t.Errorf("the choice was made anew %d times in 8 turns", anew)
	}
	if tools := shelf.Tools(shown); tools[0].Name != SearchTool || len(tools) != len(shown.Tools)+1 {
		t.Errorf("the model is told of %d tools, the first is %s", len(tools), tools[0].Name)
	}
}

func TestASearchLoadsWhatItFinds(t *testing.T) {
	shelf := NewShelf(crowd(t), nil, 0)
	talk := []model.Message{user("hello")}
	shown := shelf.Choose(Shown{}, talk, "")
	call := model.Call{ID: "c", Tool: SearchTool, Args: `{"query":"patient's prescription of a drug"}`}
	if slices.Contains(shown.Tools, "get_prescription_details") {
		t.Fatal("the tool is shown already")
	}
	answer, is := shelf.Answer(call)
	if !is || !answer.OK || answer.CallID != "c" || !strings.Contains(answer.Text, `"tool":"get_prescription_details"`) || strings.Count(answer.Text, `"tool":`) > searchHits {
		t.Fatalf("the search finds %s", answer.Text)
	}
	talk = append(talk, model.Message{Role: model.RoleAssistant, Calls: []model.Call{call}}, answer)
	if shown = shelf.Choose(shown, talk, ""); !slices.Contains(shown.Tools, "get_prescription_details") {
		t.Errorf("after the search %v are shown", shown.Tools)
	}
	for _, bad := range []string{``, `{}`, `{"query":5}`, `{"query":""}`} {
		if answer, is := shelf.Answer(model.Call{ID: "d", Tool: SearchTool, Args: bad}); !is || answer.OK || !strings.Contains(answer.Text, "query") {
			t.Errorf("%s is answered with %s", bad, answer.Text)
		}
	}
	if _, is := shelf.Answer(model.Call{Tool: "quote"}); is {
		t.Error("another tool is a search")
	}
}

func TestAToolThatIsNamedUnseenIsThenShown(t *testing.T) {
	shelf := NewShelf(crowd(t), nil, 0)
	talk := []model.Message{user("hello")}
	shown := shelf.Choose(Shown{}, talk, "")
	talk = append(talk, calls("c", "get_library_book_details", "{}"), result("c", "get_library_book_details", "{}", true))
	if shown = shelf.Choose(shown, talk, ""); !slices.Contains(shown.Tools, "get_library_book_details") {
		t.Errorf("%v are shown", shown.Tools)
	}
	if shown = shelf.Choose(Shown{Tools: []string{"gone", "quote"}}, talk, ""); slices.Contains(shown.Tools, "gone") {
		t.Error("a tool that is gone is shown")
	}
}

func TestAGuideIsReadWhenItsSkillIsInPlay(t *testing.T) {
	for _, skills := range [][]*manifest.Skill{crowd(t), {shopSkill(), airlineSkill(t)}} {
		shelf := NewShelf(skills, nil, 0)
		talk := []model.Message{user("book a flight"), calls("a", "quote", "{}"), result("a", "quote", "1", true)}
		shown := shelf.Choose(Shown{}, talk, "")
		if len(shown.Guides) != 0 {
			t.Errorf("guides are %v before the skill is in play", shown.Guides)
		}
		talk = append(talk, calls("a", "get_user_details", "{}"), result("a", "get_user_details", "1", true))
		if shown = shelf.Choose(shown, talk, ""); !slices.Equal(shown.Guides, []string{"airline.service"}) {
			t.Errorf("guides are %v", shown.Guides)
		}
		if guides := shelf.Guides(Shown{Guides: []string{"airline.service"}}, 8); len(guides) != 0 {
			t.Errorf("a small window has the guides %v", guides)
		}
		if guides := shelf.Guides(Shown{Guides: []string{"gone", "airline.service"}}, 0); !slices.Equal(guides, []Guide{{"airline.service", "Ask for the user id first."}}) {
			t.Errorf("a model reads %v", guides)
		}
		if shown = shelf.Choose(shown, talk[:1], ""); len(shown.Guides) != 1 {
			t.Error("the guide is gone when its calls are compacted")
		}
	}
}

// TestTheShopsWordsShowItsTools: single instructions to a live shop, in both
// languages, among 500 other tools.
func TestTheShopsWordsShowItsTools(t *testing.T) {
	shelf := NewShelf(crowd(t), nil, 0)
	words := map[string]string{
		"1001 现在多少钱": "quote", "把 1002 改到 79.5 元": "set_price", "set the price of 1003 to 40": "set_price", "有什么饼干": "find_products",
		"今天有哪些商品": "find_products", "show me product 1003": "get_product", "what is on stage": "current_product", "现在台上是什么": "current_product",
		"切到 1002": "switch_product", "put 1002 on stage": "switch_product", "给 1002 发 50 张 5 元优惠券": "issue_coupon",
		"issue 10 coupons of 3 for the whole shop": "issue_coupon", "发过哪些优惠券": "list_coupons", "which coupons are there": "list_coupons", "1002 还有货吗": "get_product",
	}
	missed := 0
	for said, tool := range words {
		if shown := shelf.Choose(Shown{}, []model.Message{user(said)}, OnLive); !slices.Contains(shown.Tools, tool) {
			t.Logf("%q does not show %s", said, tool)
			missed++
		}
	}
	t.Logf("of %d instructions %d show their tool", len(words), len(words)-missed)
	if missed > 0 {
		t.Errorf("%d of %d instructions do not show their tool", missed, len(words))
	}
}

func BenchmarkChoose(b *testing.B) {
	shelf := NewShelf(crowd(b), nil, 0)
	talk := []model.Message{user("I would like to book a flight from New York to Seattle on May 20"), says("What is your user id?"), user("mia_li_3668")}
	for b.Loop() {
		shelf.Choose(Shown{}, talk, "on-live")
	}
}

func BenchmarkNewShelf(b *testing.B) {
	skills := crowd(b)
	for b.Loop() {
		NewShelf(skills, nil, 0)
	}
}
