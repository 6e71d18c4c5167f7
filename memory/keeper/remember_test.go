package keeper

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
)

func TestAMemoryComesBackAsItWasKept(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now))
		low, high := 10.0, 12.0
		n := memory.Node{
			Text: "开场先聊 10 分钟 ☕", IndexText: "ann, 2026-03-01: 开场先聊 10 分钟", Layer: memory.Declared, Kind: memory.Constraint, Entity: "opening", Domain: "pacing", Scene: "live",
			Claim:  &memory.Claim{Topic: "opening.minutes", Low: &low, High: &high, Unit: "min", Words: []string{"a"}, Not: true},
			Source: memory.Source{Session: "s1", Live: "l1", Input: "i1", Call: "c1", Platform: "douyin", Device: "phone", Speaker: "ann", Document: "d", Order: 3, Derived: []memory.ID{"x"}},
			At:     now.now().Add(-time.Hour), Valid: memory.Span{From: now.now().Add(-2 * time.Hour), Until: now.now().Add(time.Hour)}, Freshness: memory.Fast,
			Trust: 0.7, Verified: 2, Pinned: true, Priority: 3,
		}
		id := k.testOnlyRemember(t, ann, n)[0]
		n.ID, n.Tenant, n.User, n.Known.From, n.Status = id, ann.Tenant, ann.User, now.now(), memory.Active
		if got := k.testOnlyGet(t, ann, id); !reflect.DeepEqual(got, n) {
			t.Errorf("got  %+v\nwant %+v", got, n)
		}
	})
}

func TestWhatSaysTheSameIsKeptOnce(t *testing.T) {
	low, other := 10.0, 12.0
	base := said("开场先聊10分钟再上链接，不要一上来就报价")
	with := func(alter func(*memory.Node)) memory.Node {
		n := base
		alter(&n)
		return n
	}
	for _, tt := range []struct {
		name string
		next memory.Node
		same bool
	}{
		{"the same", base, true},
		{"other signs, forms and order of parts", with(func(n *memory.Node) { n.Text = "開場先聊１０分鐘再上鏈接 不要一上來就報價！" }), true},
		{"another number", with(func(n *memory.Node) { n.Text = "开场先聊12分钟再上链接，不要一上来就报价" }), false},
		{"another number in words", with(func(n *memory.Node) { n.Text = "开场先聊10分钟再上链接，不要二上来就报价" }), false},
		{"the contrary", with(func(n *memory.Node) { n.Text = "开场先聊10分钟再上链接，要一上来就报价" }), false},
		{"something else", with(func(n *memory.Node) { n.Text = "喜欢蓝色的包装" }), false},
		{"another layer", with(func(n *memory.Node) { n.Layer = memory.Behaviour }), false},
		{"another kind", with(func(n *memory.Node) { n.Kind = memory.Feedback }), false},
		{"another target", with(func(n *memory.Node) { n.Entity = "sku-2" }), false},
		{"another scene", with(func(n *memory.Node) { n.Scene = "planning" }), false},
		{"a claim more", with(func(n *memory.Node) { n.Claim = &memory.Claim{Topic: "t", Low: &low, High: &other} }), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := sqliteRig(t).open()
			first := k.testOnlyRemember(t, ann, base)[0]
			got, err := k.Remember(t.Context(), ann, []memory.Node{tt.next})
			must(t, err)
			if got[0].Kept == tt.same || (got[0].ID == first) != tt.same {
				t.Errorf("kept anew: %v; want %v", got[0].Kept, !tt.same)
			}
		})
	}
}

func TestNegationsAndNumbersTurnAnEnglishSentence(t *testing.T) {
	long := "please open the show with ten minutes of small talk about the weather and the city before the first link goes up and the price is told"
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{long, strings.ToUpper(long) + "!", true},
		{long, strings.Replace(long, "please open", "please do not open", 1), false},
		{long, strings.Replace(long, "please open", "please don't open", 1), false},
		{long + " at 9.5", long + " at 9.8", false},
		{"...", "...", true},
		{"...", "!!!", false},
	} {
		if got := sameMeaning(said(tt.a), said(tt.b)); got != tt.same {
			t.Errorf("%q and %q: same %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
}

func TestNearlyTheSameTermsShareABand(t *testing.T) {
	words := strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo sierra tango")
	a, b := said(strings.Join(words, " ")), said(strings.Join(words[1:], " "))
	x, y := bandsOf(a), bandsOf(b)
	shared := false
	for _, band := range x {
		for _, other := range y {
			shared = shared || band == other
		}
	}
	if !shared {
		t.Error("19 words of 20 share no band")
	}
	if want := [bands]int64{}; bandsOf(said("stable")) == want {
		t.Error("bands of a word are nothing")
	}
}

func TestASourceVerifiesAMemoryOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		n := said("likes blue packaging")
		n.Source = memory.Source{Session: "s1", Call: "c1"}
		id := k.testOnlyRemember(t, ann, n)[0]
		for range 2 { // the same call again
			k.testOnlyRemember(t, ann, n)
		}
		if got := k.testOnlyGet(t, ann, id); got.Verified != 0 {
			t.Errorf("the same call counts as %d verifications", got.Verified)
		}
		n.Source.Call, n.Trust = "c2", 0.9
		for range 2 {
			k.testOnlyRemember(t, ann, n)
		}
		if got := k.testOnlyGet(t, ann, id); got.Verified != 1 || got.Trust != 0.9 {
			t.Errorf("another call: verified %d, trust %v", got.Verified, got.Trust)
		}
	})
}

func TestSayingItAgainBringsAnArchivedMemoryBack(t *testing.T) {
	k := sqliteRig(t).open()
	id := k.testOnlyRemember(t, ann, said("likes tea"))[0]
	_, err := k.Archive(t.Context(), ann, []memory.ID{id}, "score")
	must(t, err)
	if again := k.testOnlyRemember(t, ann, said("likes tea"))[0]; again != id || k.testOnlyGet(t, ann, id).Status != memory.Active {
		t.Errorf("it is %s and %s", again, k.testOnlyGet(t, ann, id).Status)
	}
	life, err := k.Why(t.Context(), ann, id, memory.DefaultForget(), "en")
	must(t, err)
	var events []string
	for _, e := range life.Events {
		events = append(events, e.What)
	}
	if want := []string{Remembered, Archived, Restored}; !slices.Equal(events, want) {
		t.Errorf("its life tells %v, want %v", events, want)
	}
}

func TestARedeliveryOfASupersededMemoryMakesNoNewOne(t *testing.T) {
	k := sqliteRig(t).open()
	n := said("likes tea")
	n.Source = memory.Source{Session: "s1", Input: "i1"}
	id := k.testOnlyRemember(t, ann, n)[0]
	_, err := k.Supersede(t.Context(), ann, id, said("likes coffee"))
	must(t, err)
	if got := k.testOnlyRemember(t, ann, n)[0]; got != id {
		t.Error("the same message made a second memory")
	}
	n.Source.Input = "i2"
	if got := k.testOnlyRemember(t, ann, n)[0]; got == id {
		t.Error("a new message, which says it again, was lost")
	}
}

func TestTwoThatSayTheSameAtOnceMakeOneMemory(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		keepers := []*Keeper{r.open(), r.again().open()}
		var wg sync.WaitGroup
		ids := make([]memory.ID, 8)
		for i := range ids {
			wg.Go(func() { ids[i] = keepers[i%2].testOnlyRemember(t, ann, said("likes tea"))[0] })
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("there are several: %v", ids)
			}
		}
	})
}

func TestRememberRefusesWhatItCannotKeep(t *testing.T) {
	k := sqliteRig(t).open()
	with := func(alter func(*memory.Node)) []memory.Node {
		n := said("x")
		alter(&n)
		return []memory.Node{said("fine"), n}
	}
	for name, nodes := range map[string][]memory.Node{
		"no text":        with(func(n *memory.Node) { n.Text = "" }),
		"a long text":    with(func(n *memory.Node) { n.Text = strings.Repeat("x", memory.MaxTextBytes+1) }),
		"no UTF-8":       with(func(n *memory.Node) { n.Text = "\xff" }),
		"no layer":       with(func(n *memory.Node) { n.Layer = 0 }),
		"no kind":        with(func(n *memory.Node) { n.Kind = "" }),
		"a status":       with(func(n *memory.Node) { n.Status = "gone" }),
		"too much trust": with(func(n *memory.Node) { n.Trust = 1.1 }),
		"a long entity":  with(func(n *memory.Node) { n.Entity = strings.Repeat("x", memory.MaxEntityBytes+1) }),
		"a long session": with(func(n *memory.Node) {
			n.Source.Session = "s" + "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
		}),
		"too many": make([]memory.Node, MaxRemember+1),
	} {
		_, err := k.Remember(t.Context(), ann, nodes)
		if err == nil {
			t.Errorf("%s: kept", name)
			continue
		}
		wantCode(t, err, abi.BadValue)
	}
	_, err := k.Remember(t.Context(), Owner{Tenant: "shop"}, []memory.Node{said("x")})
	wantCode(t, err, abi.BadValue)
	if page, err := k.List(t.Context(), ann, Page{}); err != nil || len(page) != 0 {
		t.Errorf("%d memories of refused calls were kept, %v", len(page), err)
	}
}

// The user's words are kept unless they are the same words: to lose them is worse than
// to have them twice.
func TestWordsOfTheUserAreTheSameOnlyInTheirOrder(t *testing.T) {
	rule := "please tell the price of the %s packaging first and only then the price of all the other packagings that we have in the shop today or tomorrow or next week"
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"I like A more than B when I sell in the evening", "I like B more than A when I sell in the evening", false},
		{fmt.Sprintf(rule, "red"), fmt.Sprintf(rule, "blue"), false},
		{"直播间背景以后都用红色的，灯光调暗一点，桌上放两束花，别的东西都收起来，机位保持在正前方，声音开大一点", "直播间背景以后都用蓝色的，灯光调暗一点，桌上放两束花，别的东西都收起来，机位保持在正前方，声音开大一点", false},
		{"margin above 5%", "margin above 5", false},
		{"price < 50", "price > 50", false},
		{"直播不要 打断我", "直播，不要打断我！", true},
		{"Likes TEA, in the Café.", "likes tea in the cafe", true},
	} {
		a, b := said(tt.a), said(tt.b)
		if got := sameMeaning(a, b); got != tt.same {
			t.Errorf("%q and %q: same %v", tt.a, tt.b, got)
		}
		k := sqliteRig(t).open()
		ids := k.testOnlyRemember(t, ann, a, b)
		if same := ids[0] == ids[1]; same != tt.same {
			t.Errorf("%q and %q are one memory: %v", tt.a, tt.b, same)
		}
	}
}

func TestFactsThatDifferInOneWordAreTwo(t *testing.T) {
	const race = "of the five presenters of the evening who sold the red and the blue packaging in the second hour of the show the one who won was %s"
	fact := func(text string) memory.Node {
		return memory.Node{Text: text, Layer: memory.Fact, Kind: memory.FactOf, Trust: memory.FactTrust}
	}
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{fmt.Sprintf(race, "alice"), fmt.Sprintf(race, "robert"), false},
		{"the price of the red packaging of the summer collection of the shop of the north went up", "the price of the red packaging of the summer collection of the shop of the north went down", false},
		{"alice sold more than robert", "robert sold more than alice", false},
		{"The price of the tea went up.", "price of a tea went up", true},
	} {
		ids := sqliteRig(t).open().testOnlyRemember(t, ann, fact(tt.a), fact(tt.b))
		if same := ids[0] == ids[1]; same != tt.same {
			t.Errorf("%q and %q are one memory: %v", tt.a, tt.b, same)
		}
	}
}

// Of the words of week 1, which hold until its end, nothing is left in week 3.
func TestWhatHoldsUntilAnotherTimeIsAnotherMemory(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const week = 7 * 24 * time.Hour
		now := newClock()
		k := r.open(withClock(now))
		coupon := func(layer memory.Layer) memory.Node {
			n := memory.Node{Text: "coupon of ten for everybody", Layer: layer, Kind: memory.FactOf, Trust: memory.FactTrust, Source: memory.Source{Session: "s1", Call: "c1"}}
			n.Valid = memory.Span{From: now.now(), Until: now.now().Add(week)}
			return n
		}
		fact := func() memory.Node {
			n := coupon(memory.Fact)
			n.Claim = &memory.Claim{Topic: "coupon", Words: []string{"ten"}}
			return n
		}
		for i := range 2 {
			first := k.testOnlyRemember(t, ann, coupon(memory.Declared), coupon(memory.Declared))
			if first[0] != first[1] {
				t.Error("the very same coupon is kept twice")
			}
			for j := range 2 {
				all, err := k.Renew(t.Context(), ann, []memory.Node{fact()})
				must(t, err)
				if all[0].Kept != (j == 0) {
					t.Errorf("week %d, renewed %d times: %+v", 1+2*i, j+1, all)
				}
			}
			if got := recall(t, k, Query{Filter: of(ann), Text: "coupon"}); len(got) != 2 {
				t.Errorf("week %d: %q", 1+2*i, got)
			}
			now.move(2 * week)
		}
	})
}

func TestASourceWithoutANameVerifiesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		n := said("likes blue packaging")
		n.Source = memory.Source{Session: "s1"} // by a skill, which names no call
		id := k.testOnlyRemember(t, ann, n)[0]
		for range 5 {
			n.Trust = 0.9
			k.testOnlyRemember(t, ann, n)
		}
		if got := k.testOnlyGet(t, ann, id); got.Verified != 0 || got.Trust != 0.6 {
			t.Errorf("it bore itself out %d times, trust %v", got.Verified, got.Trust)
		}
	})
}
