package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/toolchain"
)

// polyglots are the folders of skills/polyglot, all of which have one skill.
func polyglots() []string { return []string{"go", "rust", "assemblyscript", "c"} }

// polyglotFolder gives the folder of the skill in one language as its author
// has it, with the packages that its author installs.
func polyglotFolder(t *testing.T, name string) string {
	t.Helper()
	source := filepath.Join("..", "..", "skills", "polyglot", name)
	if name != "assemblyscript" {
		return source
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sandboxtest.Packages(t, "skills/polyglot/"+name), filepath.Join(dir, "node_modules")); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return dir
}

// buildPolyglot compiles the skill in one language as `sluice skill build` does.
func buildPolyglot(t *testing.T, name string) []byte {
	t.Helper()
	for variable, value := range sandboxtest.Cargo(t) {
		t.Setenv(variable, value)
	}
	dir, module := polyglotFolder(t, name), filepath.Join(t.TempDir(), toolchain.ModuleFile)
	if err := toolchain.Compile(t.Context(), dir, module, sandboxtest.Description); err != nil {
		t.Fatalf("%v\n(`make deps-guests` installs the compilers)", err)
	}
	wasm, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Warm(t, wasm)
	return wasm
}

// A tongue is the skill in one language, as calls are served and with a fresh
// instance for each.
type tongue struct {
	name          string
	frozen, fresh *sandbox.Module
	fuel          map[string]int64 // of a frozen call by its input and store: one value
}

// A polyglot is the skill in all languages over one store.
type polyglot struct {
	store   *state.Store
	tongues []*tongue
	tenants int
	every   int // of how many calls one is compared with a fresh instance, which takes long
}

func newPolyglot(t *testing.T) *polyglot {
	t.Helper()
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	fresh, err := sandbox.New(sandbox.Config{CacheDir: sandboxtest.CacheDir(t), Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fresh.Close(context.Background()) })
	p := &polyglot{store: store, every: 1}
	for _, name := range polyglots() {
		wasm := buildPolyglot(t, name)
		// A page of holds takes Go much fuel, and the race detector makes the host slow.
		limits := abi.Limits{Fuel: abi.CeilingLimits().Fuel, Deadline: abi.CeilingLimits().Deadline}
		m, err := fresh.Load(t.Context(), wasm, limits)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.tongues = append(p.tongues, &tongue{name: name, frozen: sandboxtest.Load(t, wasm, limits), fresh: m, fuel: map[string]int64{}})
	}
	return p
}

// A polyCase is one call over one store.
type polyCase struct {
	Name   string                     `json:"name"`
	Effect abi.Effect                 `json:"effect"` // that the gate went by
	Input  json.RawMessage            `json:"invocation"`
	KV     map[string]json.RawMessage `json:"kv"` // before
	Reply  json.RawMessage            `json:"reply"`
	After  map[string]json.RawMessage `json:"after"` // kv, as the call leaves it
	Logs   string                     `json:"logs"`  // a line for each
}

// A polyResult is all that a caller can see of a call.
type polyResult struct {
	reply string
	after string // the store
	logs  string
}

// play seeds the store for a case and plays it in every language, frozen and,
// as often as p.every says, fresh. All give the same, which is given back.
func (p *polyglot) play(t *testing.T, input []byte, effect abi.Effect, kv map[string]json.RawMessage) polyResult {
	t.Helper()
	p.tenants++
	tenant := host.TenantID(fmt.Sprintf("tenant%d", p.tenants))
	if err := p.store.Import(t.Context(), tenant, "shop", func(yield func(string, []byte) bool) {
		for _, key := range slices.Sorted(maps.Keys(kv)) {
			if !yield(key, kv[key]) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	var want polyResult
	for i, tongue := range p.tongues {
		got, fuel := p.call(t, tongue.frozen, tenant, input, effect)
		if p.tenants%p.every == 0 {
			if fresh, _ := p.call(t, tongue.fresh, tenant, input, effect); fresh != got {
				t.Errorf("%s in a fresh instance differs for %s:\n%+v\n%+v", tongue.name, input, fresh, got)
			}
		}
		_, again := p.call(t, tongue.frozen, tenant, input, effect)
		if i == 0 {
			want = got
		}
		if got != want {
			t.Errorf("%s differs from %s for %s over %s:\n%+v\n%+v", tongue.name, p.tongues[0].name, input, kv, got, want)
		}
		tongue.checkFuel(t, fmt.Sprintf("%s %s", input, kv), fuel, again)
	}
	return want
}

func (g *tongue) checkFuel(t *testing.T, key string, values ...int64) {
	t.Helper()
	for _, fuel := range values {
		if before, ok := g.fuel[key]; ok && before != fuel {
			t.Errorf("%s used %d of fuel, and %d before, for %s", g.name, fuel, before, key)
		}
		g.fuel[key] = fuel
	}
}

// call makes one call under a grant of the real store, whose writes are seen
// and dropped.
func (p *polyglot) call(t *testing.T, m *sandbox.Module, tenant host.TenantID, input []byte, effect abi.Effect) (polyResult, int64) {
	t.Helper()
	g := grant.For(grant.Config{Store: p.store}, grant.Call{
		Session: host.SessionRef{Tenant: tenant, User: "mia", Session: "s"}, Effect: effect,
		Capabilities: abi.Capabilities{KV: &abi.KVAccess{Namespace: "shop"}},
	})
	res := m.Call(t.Context(), sandbox.Request{Export: abi.ExportInvoke, Input: input, Functions: g.Functions})
	if res.Problem != nil {
		t.Fatalf("%s ends in %v\n%v", input, res.Problem, res.Logs)
	}
	result := polyResult{reply: string(res.Output)}
	for _, l := range res.Logs {
		result.logs += fmt.Sprintf("%s: %s\n", l.Level, l.Text)
	}
	for after := ""; ; {
		page, err := g.Views[0].Scan(t.Context(), abi.ScanQuery{After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			result.after += fmt.Sprintf("%q:%s\n", e.Key, e.Value)
		}
		if after = page.After; after == "" {
			return result, res.Usage.Fuel
		}
	}
}

func TestTheSkillInFourLanguages(t *testing.T) {
	p := newPolyglot(t)
	t.Run("describes the same", p.describeTheSameSkill)
	t.Run("gives the bytes of the vectors", p.giveTheBytesOfTheVectors)
	t.Run("gives the same for seeded calls", p.giveTheSameForSeededCalls)
	t.Run("judges damaged records the same", p.judgeDamagedRecords)
	t.Run("reads all pages", p.readAllPages)
}

func (p *polyglot) describeTheSameSkill(t *testing.T) {
	var want string
	for _, tongue := range p.tongues {
		res := tongue.frozen.Call(t.Context(), sandbox.Request{Export: abi.ExportDescribe})
		var compact bytes.Buffer
		if err := json.Compact(&compact, res.Output); err != nil || res.Problem != nil {
			t.Fatalf("%s: %v %v", tongue.name, err, res.Problem)
		}
		want = cmp.Or(want, compact.String())
		if compact.String() != want {
			t.Errorf("%s describes\n%s\nand %s describes\n%s", tongue.name, compact.String(), p.tongues[0].name, want)
		}
	}
}

func (p *polyglot) giveTheBytesOfTheVectors(t *testing.T) {
	b, err := os.ReadFile(filepath.FromSlash("../../skills/polyglot/testdata/vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []polyCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	p.every = 1
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 { // the second time in another order, over which fuel must stay
		for _, c := range cases {
			kv := map[string]json.RawMessage{}
			for key, value := range c.KV {
				kv[key] = bytesOf(t, value)
			}
			got := p.play(t, bytesOf(t, c.Input), c.Effect, kv)
			want := polyResult{reply: string(bytesOf(t, c.Reply)), logs: c.Logs}
			for _, key := range slices.Sorted(maps.Keys(c.After)) {
				want.after += fmt.Sprintf("%q:%s\n", key, bytesOf(t, c.After[key]))
			}
			if got != want {
				t.Errorf("%s gives\n%+v\nwant\n%+v", c.Name, got, want)
			}
		}
		random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	}
}

// bytesOf gives a value as a skill writes it; a text stands for its own bytes,
// so that a vector can hold what is no JSON.
func bytesOf(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		t.Fatal(err)
	}
	return compact.Bytes()
}

// polyCalls is how many seeded calls are compared.
const polyCalls = 200

func (p *polyglot) giveTheSameForSeededCalls(t *testing.T) {
	p.every = 5
	random := rand.New(rand.NewPCG(21, 22))
	endings := map[string]int{}
	for range polyCalls {
		input, kv := polyInput(t, random)
		var reply abi.Reply
		if err := json.Unmarshal([]byte(p.play(t, input, abi.Write, kv).reply), &reply); err != nil {
			t.Fatal(err)
		}
		ending := "ok"
		if !reply.OK {
			ending = fmt.Sprint(reply.Problem.Code)
		}
		endings[ending]++
	}
	t.Log("endings: ", endings)
	for _, ending := range []string{"ok", "3001", "3004", "3101", "4007"} {
		if endings[ending] == 0 {
			t.Errorf("no call ended in %s: too little was shown", ending)
		}
	}
}

// What one language's JSON reader takes, and what it does not, is what the
// others take. Left out are upper-case letters and d, which would make names
// that only Go takes for the same, and halves of characters.
func (p *polyglot) judgeDamagedRecords(t *testing.T) {
	p.every = 5
	random := rand.New(rand.NewPCG(31, 32))
	const whole, signs = `{"buyer":"\u5c0f\n美","pieces":12,"more":[1.5e2,-3,{"a":null,"b":[]},true],"at":"2026"}`, "{}[]\",:0123456789.-+e\\u/ \n\x01ntrueb"
	records := []string{whole, "", " ", "[]", "12", strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000), whole + "x", " " + whole + "\n"}
	for range polyCalls {
		record := []byte(whole)
		for range 1 + random.IntN(2) {
			at, sign := random.IntN(len(record)), signs[random.IntN(len(signs))]
			switch random.IntN(3) {
			case 0:
				record[at] = sign
			case 1:
				record = slices.Insert(record, at, sign)
			default:
				record = slices.Delete(record, at, at+1)
			}
		}
		if utf8.Valid(record) {
			records = append(records, string(record))
		}
	}
	endings := map[bool]int{}
	for _, record := range records {
		reply := p.play(t, []byte(`{"abi":1,"tool":"release","args":{"sku":"1","buyer":"a"},"call":{}}`), abi.Write, map[string]json.RawMessage{"hold/1/a": json.RawMessage(record)}).reply
		endings[strings.HasPrefix(reply, `{"ok":true`)]++
	}
	t.Log("taken and not: ", endings)
	if endings[true] == 0 || endings[false] == 0 {
		t.Error("too little was shown")
	}
}

// More holds than one page has, so that every language goes on to the next.
func (p *polyglot) readAllPages(t *testing.T) {
	kv := map[string]json.RawMessage{}
	for i := range abi.ScanPageEntries + 7 {
		kv[fmt.Sprintf("hold/1001/买家%04d", i)] = json.RawMessage(fmt.Sprintf(`{"buyer":"买家%04d","pieces":%d,"at":"2026-01-15T12:00:00Z"}`, i, i%5))
	}
	got := p.play(t, []byte(`{"abi":1,"tool":"holds","args":{"sku":"1001","most":1},"call":{}}`), abi.Read, kv)
	want := `{"ok":true,"data":{"sku":"1001","buyers":1007,"pieces":2011,"holds":[{"buyer":"买家0000","pieces":0,"at":"2026-01-15T12:00:00Z"}]}}`
	if got.reply != want {
		t.Errorf("got %s, want %s", got.reply, want)
	}
}

// polyInput makes an invocation that the host would let through, and a store.
func polyInput(t *testing.T, random *rand.Rand) ([]byte, map[string]json.RawMessage) {
	t.Helper()
	pick := func(values ...any) any { return values[random.IntN(len(values))] }
	buyer := func() string {
		return pick("小美", "Tom", "阿强 🎈", `A "quoted" \ name`, "<b>&'", "Zoë\u2028", "名"+strings.Repeat("长", 20), "tab\tbed").(string)
	}
	sku := func() string { return pick("1001", "1001", "A-2", "9").(string) }
	kv := map[string]json.RawMessage{}
	put := func(key string, value any) { kv[key] = mustJSON(t, value) }
	for _, s := range []string{"1001", "A-2"} {
		put("product/"+s, map[string]any{
			"sku": s, "title": buyer(), "stock": random.IntN(30), "currency": "CNY", "extra": []any{nil, true, map[string]any{"deep": []int{1}}},
			"price": float64(random.IntN(20_000)) / float64(pick(1.0, 10.0, 100.0).(float64)),
		})
		for range random.IntN(4) {
			b := pick("小美", "Tom", "阿强 🎈", "<b>&'").(string)
			put("hold/"+s+"/"+b, map[string]any{"buyer": b, "pieces": 1 + random.IntN(6), "note": pick("", "a\\b\"c", "包装好\n谢谢"), "at": "2026-01-15T12:00:00Z"})
		}
	}
	invocation := map[string]any{"abi": 1, "tool": "reserve", "call": map[string]any{"id": "c", "attempt": 1, "now": "2026-01-15T12:34:56.789Z", "tenant": "acme"}}
	switch random.IntN(5) {
	case 0:
		invocation["tool"], invocation["args"] = "release", map[string]any{"sku": sku(), "buyer": buyer()}
	case 1:
		invocation["tool"], invocation["args"] = "holds", map[string]any{"sku": sku(), "most": 1 + random.IntN(4)}
	default:
		invocation["args"] = map[string]any{"sku": sku(), "buyer": buyer(), "pieces": 1 + random.IntN(12), "note": pick("", "快点", "two\nlines", "\u007f é 😀")}
	}
	if random.IntN(3) == 0 {
		invocation["state"] = map[string]any{"live.most": pick(0, 3, 5, nil)}
	}
	input := mustJSON(t, invocation)
	if random.IntN(2) == 0 {
		input = escapeAll(input)
	}
	return input, kv
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// escapeAll writes every character outside of ASCII as an escape, in halves
// where it needs two.
func escapeAll(input []byte) []byte {
	var out []byte
	for _, r := range string(input) {
		if r < 0x80 {
			out = append(out, byte(r))
			continue
		}
		if r > 0xffff {
			out = fmt.Appendf(out, `\u%04x`, 0xd800+(r-0x10000)>>10)
			r = 0xdc00 + (r-0x10000)&0x3ff
		}
		out = fmt.Appendf(out, `\u%04X`, r)
	}
	return out
}
