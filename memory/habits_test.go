package memory

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// event is one number of a live that was some days before noon.
func event(live int, daysAgo int, topic string, value float64) Event {
	return Event{ID: ID(fmt.Sprintf("%s-%d-%d-%v", topic, live, daysAgo, value)), Tenant: "acme", User: "mia", Live: host.LiveID(fmt.Sprintf("l%d", live)), Session: "s1",
		Time: noon.AddDate(0, 0, -daysAgo), Topic: topic, Value: &value, Unit: "min"}
}

func word(live, daysAgo int, topic, w string) Event {
	e := event(live, daysAgo, topic, 0)
	e.ID, e.Value, e.Word, e.Unit = e.ID+ID(w), nil, w, ""
	return e
}

func TestHabitsAreRangesOverTheLastLives(t *testing.T) {
	events := []Event{event(0, 9, "opening.minutes", 30), event(1, 6, "opening.minutes", 10), event(2, 5, "opening.minutes", 11), event(3, 4, "opening.minutes", 12),
		event(4, 3, "opening.minutes", 10), event(5, 2, "opening.minutes", 9), event(5, 2, "opening.minutes", 13)}
	habits := Habits(DefaultHabits(), events, noon)
	if len(habits) != 1 {
		t.Fatalf("%d habits: %+v", len(habits), habits)
	}
	h := habits[0]
	if *h.Claim.Low != 10 || *h.Claim.High != 12 || h.Claim.Unit != "min" || h.Layer != Behaviour || h.Kind != Habit || h.Status != Active {
		t.Errorf("the habit is %+v, %s", h, h.Claim.Text("en"))
	}
	if h.Trust != exact(5.0/7) || len(h.Source.Derived) != 6 || !h.At.Equal(noon.AddDate(0, 0, -2)) || !h.Valid.From.Equal(noon.AddDate(0, 0, -6)) {
		t.Errorf("trust %v, evidence %v, from %v to %v", h.Trust, h.Source.Derived, h.Valid.From, h.At)
	}
	if !h.Known.From.Equal(noon) {
		t.Errorf("it is known from %v, before anybody looked", h.Known.From)
	}
	if want := "opening.minutes: 10–12 min in the last 5 lives (median 11)"; h.Text != want {
		t.Errorf("it is told as %q, want %q", h.Text, want)
	}
	slices.Reverse(events)
	if again := Habits(DefaultHabits(), append(events, events...), noon); !reflect.DeepEqual(habits, again) {
		t.Errorf("in another order, and twice, it is %+v", again)
	}
}

func TestHabitsNeedSupport(t *testing.T) {
	set := DefaultHabits()
	two := []Event{event(1, 2, "t", 1), event(2, 1, "t", 1)}
	for name, events := range map[string][]Event{
		"two lives":                 two,
		"three events of one live":  {event(1, 1, "t", 1), event(1, 1, "t", 2), event(1, 1, "t", 3)},
		"a live of tomorrow":        append(slices.Clone(two), event(3, -1, "t", 1)),
		"a live out of the window":  append(slices.Clone(two), event(3, 91, "t", 1)),
		"another unit":              append(slices.Clone(two), func() Event { e := event(3, 1, "t", 1); e.Unit = "h"; return e }()),
		"another user":              append(slices.Clone(two), func() Event { e := event(3, 1, "t", 1); e.User = "bob"; return e }()),
		"another tenant":            append(slices.Clone(two), func() Event { e := event(3, 1, "t", 1); e.Tenant = "other"; return e }()),
		"words that nobody repeats": {word(1, 3, "w", "a"), word(2, 2, "w", "b"), word(3, 1, "w", "c")},
		"nobody's":                  {event(1, 1, "", 1), event(2, 1, "", 1), event(3, 1, "", 1)},
	} {
		if habits := Habits(set, events, noon); len(habits) != 0 {
			t.Errorf("%s make %+v", name, habits)
		}
	}
	set.Since = noon.AddDate(0, 0, -2)
	if habits := Habits(set, []Event{event(1, 3, "t", 1), event(2, 2, "t", 1), event(3, 1, "t", 1)}, noon); len(habits) != 0 {
		t.Errorf("what was before the user's words counts: %+v", habits)
	}
}

func TestWordsOfMostLivesAreAHabit(t *testing.T) {
	set := DefaultHabits()
	set.Locale = "zh-CN"
	habits := Habits(set, []Event{word(1, 3, "fans.topic", "茶具"), word(1, 3, "fans.topic", "茶具"), word(2, 2, "fans.topic", "茶具"), word(2, 2, "fans.topic", "香"), word(3, 1, "fans.topic", "茶叶")}, noon)
	if len(habits) != 1 || !slices.Equal(habits[0].Claim.Words, []string{"茶具"}) || habits[0].Kind != Profile || habits[0].Trust != 0.5 || !strings.Contains(habits[0].Text, "最近 3 场") {
		t.Errorf("the habits are %+v", habits)
	}
}

func TestANewerHabitRenewsAnOlderOne(t *testing.T) {
	older, newer := lived("h1", "s1", 2, minutes(10, 11)), lived("h2", "s2", 1, minutes(3, 4))
	if !Renews(older, newer) || Renews(newer, older) {
		t.Error("the later one must take the place of the earlier one")
	}
	for name, alter := range map[string]func(*Node){
		"words":          func(n *Node) { n.Layer = Declared },
		"another user":   func(n *Node) { n.User = "bob" },
		"another topic":  func(n *Node) { n.Claim = new(Between("price", 1, 1, "")) },
		"another entity": func(n *Node) { n.Entity = "1001" },
		"no claim":       func(n *Node) { n.Claim = nil },
	} {
		n := newer
		if alter(&n); Renews(older, n) {
			t.Errorf("%s takes its place", name)
		}
	}
}

func TestFactsAreBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	if _, err := Facts(ShopFacts(), Result{Data: json.RawMessage(deep)}); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadArguments {
		t.Errorf("a result of 40 levels gives %v", err)
	}
	var many []string
	for i := range 3 * MaxFacts {
		many = append(many, fmt.Sprintf(`{"sku":"%d","price":1}`, i))
	}
	facts, err := Facts(ShopFacts(), Result{Data: json.RawMessage("[" + strings.Join(many, ",") + "]")})
	if err != nil || len(facts) != MaxFacts {
		t.Errorf("%d facts, %v", len(facts), err)
	}
	if _, err := Facts(ShopFacts(), Result{Data: make([]byte, maxResultBytes+1)}); err == nil {
		t.Error("a result that is too long is read")
	}
}

// FuzzFacts: whatever a tool returns, facts are one line and within their bounds.
func FuzzFacts(f *testing.F) {
	for _, data := range []string{`{"sku":"1001","price":69,"risk_words":["a","b"]}`, `[{"id":7,"goal":1e400,"slot":null}]`, `{"price":{"price":[1,{"price":2}]}}`, `{"exposure_7d":1,"exposure_0d":1,"title":"\u2028x\n"}`} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		facts, err := Facts(ShopFacts(), Result{Tenant: "acme", Data: json.RawMessage(data)})
		if err != nil && len(facts) > 0 || len(facts) > MaxFacts {
			t.Fatalf("%d facts and %v", len(facts), err)
		}
		for _, n := range facts {
			if n.Layer != Fact || n.Text == "" || len(n.Text) > MaxTextBytes || strings.ContainsAny(n.Text, "\n\r\u2028") || len(n.Entity) > MaxEntityBytes {
				t.Fatalf("%q gives %+v", data, n)
			}
		}
	})
}
