package dispatch

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
)

// TestFactThatTheBusinessRefusesEndsTheCall: a person is not asked to confirm
// an order of something that does not exist.
func TestFactThatTheBusinessRefusesEndsTheCall(t *testing.T) {
	g := newGate(t)
	o := g.do("order", `{"item":"ghost","count":2}`)
	wantProblem(t, o, host.Failed, abi.NotFound)
	if o.Problem.Field != "item" || len(o.Problem.Candidates) != 1 || o.Attempts != 0 {
		t.Errorf("problem is %+v after %d attempts", o.Problem, o.Attempts)
	}
	g.wantKinds(o.Call, host.RecordRefusal)
	if detail := string(g.records(o.Call)[0].Detail); !strings.Contains(detail, `"step":"gate"`) {
		t.Errorf("record is %s", detail)
	}
}

func TestFactThatCannotBeHadCountsAsTheStricterAnswer(t *testing.T) {
	g := newGate(t)
	for _, item := range []string{"far away", "riddle"} {
		o := g.do("order", `{"item":"`+item+`","count":2}`)
		wantProblem(t, o, host.Pending, abi.PendingApproval)
		if o.Attempts != 0 || o.Tier != abi.HardGate {
			t.Errorf("%s: outcome is %+v", item, o)
		}
	}
}

// TestFactThatTakesTooMuchToCheckIsUnknown: its call could never be settled, and
// would find that out only after its effect.
func TestFactThatTakesTooMuchToCheckIsUnknown(t *testing.T) {
	g := newGate(t)
	entries := map[string][]byte{}
	for i := range abi.ScanPageEntries {
		entries[fmt.Sprint("k", i)] = []byte("1")
	}
	must(t, g.store.Import(context.Background(), session.Tenant, "test", maps.All(entries)))
	o := g.do("order", `{"item":"everything","count":2}`)
	wantProblem(t, o, host.Pending, abi.PendingApproval)
	if o.Attempts != 0 || o.Tier != abi.HardGate {
		t.Errorf("outcome is %+v", o)
	}
}

// TestAFactThatChangedKeepsNoFileEither: what the call was allowed for is not so
// any more, and files are as much of an effect as kv is.
func TestAFactThatChangedKeepsNoFileEither(t *testing.T) {
	s := newStudy(t, func(tool *abi.Tool) {
		tool.Rules = []abi.Rule{{When: "facts.price > 100", Tier: abi.Block, Say: "Too dear."}}
	})
	c := call("write", `{"only":true,"files":[{"path":"a.json","text":"{}"}]}`)
	s.d.Trace = func(id host.CallID, step string) {
		if id == c.ID && step == "settle" {
			must(t, s.store.Import(context.Background(), session.Tenant, "scribe", maps.All(map[string][]byte{"price": []byte("120")})))
		}
	}
	o := s.d.Do(context.Background(), s.catalog, c)
	wantProblem(t, o, host.Failed, abi.RedLine)
	if _, there := s.read("a.json"); there {
		t.Error("the file was kept")
	}
}

func TestBusinessAnswerNamesTheCallersArgument(t *testing.T) {
	for _, tt := range []struct{ name, expression, field, want string }{
		{"the argument itself", "args.sku", "item", "sku"},
		{"a part of one", "args.line.items[0].sku", "item", "line.items[0].sku"},
		{"made of one", "args.sku + '-cn'", "item", ""},
		{"from elsewhere", "state.live.sku", "item", ""},
		{"another field", "args.sku", "colour", ""},
		{"no field", "args.sku", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := abi.FactSpec{Tool: "quote", Args: map[string]string{"item": tt.expression}}
			got := businessAnswer(abi.NewProblem(abi.NotFound, "no such thing").WithField(tt.field), spec)
			if got == nil || got.Field != tt.want {
				t.Errorf("problem is %+v, want field %q", got, tt.want)
			}
		})
	}
	for _, code := range []abi.Code{abi.Unavailable, abi.BadValue, abi.Trap, abi.PendingApproval, abi.OutOfMemory, abi.QuotaReached} {
		if got := businessAnswer(abi.NewProblem(code, "not the business"), abi.FactSpec{}); got != nil {
			t.Errorf("code %d counts as the business's answer", code)
		}
	}
}

// TestFactComesFromTheToolsOwnSkill: another skill of the session may have a
// tool of that name, since releases are pinned one by one.
func TestFactComesFromTheToolsOwnSkill(t *testing.T) {
	g := newGate(t, func(m *abi.Manifest) { m.Name = "another.guest" })
	named := func(name string) func(*abi.Manifest) {
		return func(m *abi.Manifest) {
			m.Version, m.Name = "2.0.0", "another.guest"
			m.Tools = []abi.Tool{m.Tools[0]}
			m.Tools[0].Name, m.Tools[0].Facts, m.Tools[0].Rules = name, nil, nil
		}
	}
	g.load(named("elsewhere"))
	g.load() // test.guest, whose tools another.guest 1.0.0 has, too
	g.catalog, _ = g.set.Catalog(context.Background(), release.Pins{"another.guest": "1.0.0"})
	var order release.Entry
	for _, e := range g.catalog.Entries() {
		if e.Tool.Name == "order" {
			order = e
		}
	}
	if order.Release.Skill.Name != "another.guest" {
		t.Fatalf("order is of %s", order.Release)
	}
	own := g.set.Current()[1]
	f := newFlight(g.d, g.catalog, call("order", `{"item":"pen","count":2}`))
	f.entry = release.Entry{Release: own, Tool: own.Skill.Tool("order")}
	if o := f.do(context.Background()); !o.OK() || o.Release != "test.guest@1.0.0" {
		t.Fatalf("outcome is %+v with %v", o, o.Problem)
	}
	if records := g.records(f.call.ID + "/now"); len(records) != 2 || records[0].Release != "test.guest@1.0.0" {
		t.Errorf("the fact's records are %+v", records)
	}
}

// TestScopeMayAskForFacts: they are fetched before the scope is asked, once.
func TestScopeMayAskForFacts(t *testing.T) {
	g := newGate(t)
	wantProblem(t, g.do("reorder", `{"item":"pen","count":1}`), host.Failed, abi.OutOfScope)
	if o := g.do("order", `{"item":"pen","count":1}`); !o.OK() {
		t.Fatalf("outcome is %+v", o)
	}
	o := g.do("reorder", `{"item":"pen","count":1}`)
	if !o.OK() || g.stored("total/pen") != "2" {
		t.Fatalf("outcome is %+v with %v", o, o.Problem)
	}
	if reads := g.records(o.Call+"/now", host.RecordOutcome); len(reads) != 1 {
		t.Errorf("the fact was read %d times, want once", len(reads))
	}
}
