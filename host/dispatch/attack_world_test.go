package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

// The skills that are attacked: where their code is, and their kv's namespace.
var attackedSkills = map[string][2]string{
	"guest":   {"host/dispatch/testdata/guest", "test"},
	"ledger":  {"host/dispatch/testdata/ledger", "ledger"},
	"pricing": {"skills/shop/pricing", "shop"},
	"coupons": {"skills/shop/coupons", "shop"},
	"stage":   {"skills/shop/stage", "shop"},
}

// An attackWorld is one store in which each attack has a tenant of its own, and
// a server outside.
type attackWorld struct {
	store    *state.Store
	egress   *egress.Client
	catalogs map[string]*release.Catalog // by skill and patches
	sets     []*release.Set              // that they come from
	posts    atomic.Int32
	tenants  int
}

func newAttackWorld(t *testing.T) *attackWorld {
	t.Helper()
	w := &attackWorld{store: openStore(t, filepath.Join(t.TempDir(), "store.db"), state.Options{}), catalogs: map[string]*release.Catalog{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.posts.Add(1)
	}))
	t.Cleanup(server.Close)
	client, err := egress.New(egress.Config{
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(map[bool]string{true: "93.184.215.14", false: "10.0.0.1"}[name == "ledger.example.com"])}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w.egress = client
	t.Cleanup(func() {
		for _, set := range w.sets {
			set.Close(context.Background())
		}
	})
	return w
}

// catalog gives the tools of a skill whose manifest is patched.
func (w *attackWorld) catalog(t *testing.T, skill string, patches ...map[string]json.RawMessage) *release.Catalog {
	t.Helper()
	text, err := json.Marshal(patches)
	if err != nil {
		t.Fatal(err)
	}
	if c := w.catalogs[skill+string(text)]; c != nil {
		return c
	}
	sb := sandboxtest.Shared(t)
	wasm := sandboxtest.Build(t, attackedSkills[skill][0])
	m := sandboxtest.Manifest(t, sb, wasm)
	for _, p := range patches {
		m = patchedManifest(t, m, p)
	}
	compiled, err := manifest.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	set := release.NewSet(sb, nil)
	w.sets = append(w.sets, set)
	if _, err := set.Load(t.Context(), &registry.Release{Skill: compiled, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	c, _ := set.Catalog(t.Context(), nil)
	w.catalogs[skill+string(text)] = c
	return c
}

// patchedManifest applies merge patches: to tools by name, to all of them for
// "*", and for "" to the rest.
func patchedManifest(t *testing.T, m abi.Manifest, patches map[string]json.RawMessage) (changed abi.Manifest) {
	t.Helper()
	tools := m.Tools
	m.Tools = nil
	repack(t, m, patches[""], &changed)
	for _, tool := range tools {
		var next abi.Tool
		repack(t, tool, patches["*"], &tool)
		repack(t, tool, patches[tool.Name], &next)
		changed.Tools = append(changed.Tools, next)
	}
	return changed
}

func repack(t *testing.T, from any, patch json.RawMessage, to any) {
	t.Helper()
	text, err := json.Marshal(from)
	if err == nil && patch != nil {
		text = mergePatch(text, patch)
	}
	switch to := to.(type) {
	case *abi.Tool:
		*to = abi.Tool{}
	case *abi.Manifest:
		*to = abi.Manifest{}
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A play is one attack in its world.
type play struct {
	*attackWorld
	t       *testing.T
	a       attack
	d       *Dispatcher
	off     string // the layer that is left out
	skill   string
	catalog *release.Catalog
	session host.SessionRef
	fence   state.Fence
	leave   context.CancelFunc
	asked   map[string]host.ApprovalID
	pending map[string][]attackStep // of the call that is made, by the step before which they happen
	calls   int
	answers bool // a person has had a say
	under   bool // under way is the attack: a layer is left out for that alone
	last    host.Outcome
	spec    *attackCall // of the last call
}

// An end is what became of a play.
type end struct {
	layer   string // that stopped the last call first; empty if none did
	through string // what the ledger has beyond what it may have
	end     string // the last call's, for people
}

// play takes an attack through the gate, with a layer left out.
func (w *attackWorld) play(t *testing.T, a attack, off string) end {
	t.Helper()
	w.tenants++
	w.posts.Store(0)
	p := &play{
		attackWorld: w, t: t, a: a, off: off, skill: a.Skill, asked: map[string]host.ApprovalID{},
		session: host.SessionRef{Tenant: host.TenantID(fmt.Sprint("shop", w.tenants)), User: "mia", Session: "s1"},
	}
	if p.skill == "" {
		p.skill = "guest"
	}
	p.d = New(Config{Config: grant.Config{Store: w.store, Egress: w.egress}, Jitter: func() float64 { return 1 }, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, Trace: p.trace})
	if a.Policy != "" {
		p.d.Policy = policy(t, a.Policy)
	}
	p.d.Hooks = attackHooks(t, a.Hooks)
	p.catalog = w.catalog(t, p.skill, p.manifest()...)
	p.leaveOut(off)
	p.put(a.KV)
	p.set(a.State)
	if slices.ContainsFunc(a.Steps, func(s attackStep) bool { return s.Call != nil && s.Call.Fenced }) {
		p.lease()
	}
	p.attack(a.Steps)
	return end{layer: p.layer(), through: p.through(), end: fmt.Sprintf("%s %v", p.last.Status, p.last.Problem)}
}

func (p *play) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// attack lets the steps happen. The last call is the attack.
func (p *play) attack(steps []attackStep) {
	p.t.Helper()
	last := len(steps) - 1
	for last > 0 && steps[last].Call == nil {
		last--
	}
	p.steps(steps[:last])
	p.under = true
	p.steps(steps[last:])
	p.under = false
}

func (p *play) steps(steps []attackStep) {
	p.t.Helper()
	for _, s := range steps {
		switch {
		case s.Call != nil:
			p.call(*s.Call)
		case s.Answer != nil:
			p.answer(*s.Answer)
		case s.Grant != nil:
			p.grant(*s.Grant)
		case s.Release != nil:
			p.catalog = p.attackWorld.catalog(p.t, p.skill, append(p.manifest(), s.Release)...)
		case s.Takeover:
			p.must(p.store.Release(context.Background(), p.session, p.fence))
			p.lease()
		case s.Leave:
			p.leave()
		}
		p.set(s.Set)
		p.put(s.Put)
	}
}

// trace lets happen what happens before a step of the call that is made. What
// happens there once does not happen again.
func (p *play) trace(id host.CallID, step string) {
	if strings.Contains(string(id), "/") {
		step = "fact " + step
	}
	steps := p.pending[step]
	delete(p.pending, step)
	if len(steps) == 0 {
		return
	}
	last, spec, under := p.last, p.spec, p.under
	p.under = false
	p.steps(steps)
	p.last, p.spec, p.under = last, spec, under
}

func (p *play) lease() {
	fence, err := p.store.Lease(context.Background(), p.session, fmt.Sprint("replica", p.calls), time.Minute)
	p.must(err)
	if p.fence == 0 {
		p.fence = fence
	}
}

// set changes the session's state as an operator does, and put the skill's kv
// as a call of another session does.
func (p *play) set(patch map[string]json.RawMessage) {
	p.t.Helper()
	if len(patch) > 0 {
		p.must(p.d.SetState(context.Background(), p.session, patch))
	}
}

func (p *play) put(values map[string]json.RawMessage) {
	p.t.Helper()
	if len(values) == 0 {
		return
	}
	p.calls++
	view := p.store.View(p.session.Tenant, attackedSkills[p.skill][1])
	for key, value := range values {
		p.must(view.Put(key, value))
	}
	ref := p.session
	ref.Session = "elsewhere"
	p.must(p.store.Settle(context.Background(), state.Settlement{Session: ref, Call: host.CallID(fmt.Sprint("put", p.calls)), Views: []*state.View{view}}))
}

func (p *play) answer(a attackAnswer) {
	p.t.Helper()
	if p.asked[a.Of] == "" {
		return // without the layer that asks there is no question
	}
	q, _, err := p.store.Approval(context.Background(), p.session.Tenant, p.asked[a.Of])
	p.must(err)
	p.answers = true
	by := host.UserID(a.By)
	if by == "" {
		by = "boss"
	}
	_, err = p.store.AnswerApproval(context.Background(), state.ApprovalAnswer{Tenant: p.session.Tenant, ID: q.ID, Digest: q.Digest, Approve: a.Yes, By: by})
	if err != nil && host.ProblemOf(err).Code != abi.Conflict { // it was taken back
		p.t.Fatal(err)
	}
}

func (p *play) grant(g attackGrant) {
	p.t.Helper()
	p.answers = true
	kept := state.StandingGrant{Tenant: p.session.Tenant, User: p.session.User, Session: p.session.Session, Tool: g.Tool, Condition: g.Condition, MaxTier: abi.HardGate, GrantedBy: "boss"}
	if g.Tier != "" {
		kept.MaxTier = abi.Tier(g.Tier)
	}
	if g.Session != "" {
		kept.Session = host.SessionID(g.Session)
	}
	if g.User != "" {
		kept.User = host.UserID(g.User)
	}
	_, err := p.store.AddStandingGrant(context.Background(), kept, 0)
	p.must(err)
}

// call makes one call, and keeps its outcome.
func (p *play) call(spec attackCall) {
	p.t.Helper()
	p.calls++
	c := host.Call{
		ID: host.CallID(fmt.Sprint("call", p.calls)), Session: p.session, Locale: "en", Tool: p.name(spec.Tool), Args: written(spec.Args),
		Input: max(1, spec.Input), Ordinal: spec.Ordinal, Serves: spec.Serves, Mode: host.Mode(spec.Mode), CutOff: spec.CutOff,
	}
	if spec.ID != "" {
		c.ID = host.CallID(spec.ID)
	}
	if spec.Approval != "" && (p.off != layerApproval || !p.under) {
		c.Approval = p.asked[spec.Approval]
	}
	for _, name := range spec.Asked {
		c.Asked = append(c.Asked, p.asked[name])
	}
	if spec.Fenced {
		c.Fence = p.fence
	}
	p.elsewhere(&c, spec)
	for i, args := range spec.Recent {
		past := host.Past{Tool: c.Tool, Args: p.d.Plain("", written(args)), Effect: abi.Write, Status: host.Failed, Input: c.Input, Round: i + 1}
		c.Recent, c.Round = append(c.Recent, past), i+2
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	before, outer := p.pending, p.leave
	p.pending, p.leave = maps.Clone(spec.Meantime), leave
	o := p.d.Do(ctx, p.catalog, c)
	p.pending, p.leave = before, outer
	if spec.As != "" {
		p.asked[spec.As] = o.Approval
	}
	p.last, p.spec = o, &spec
}

// elsewhere makes the call another session's.
func (p *play) elsewhere(c *host.Call, spec attackCall) {
	if spec.User != "" {
		c.Session.User = host.UserID(spec.User)
	}
	if spec.Session != "" {
		c.Session.Session = host.SessionID(spec.Session)
	}
	if spec.Tenant {
		c.Session.Tenant += "-other"
	}
}

// written gives arguments to the letter. What stands as <<text*n>> is repeated.
func written(args json.RawMessage) string {
	text := string(args)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(args, &text); err != nil {
			panic("BUG: a string of a file that was read is none: " + err.Error())
		}
	}
	return repeats.ReplaceAllStringFunc(text, func(part string) string {
		m := repeats.FindStringSubmatch(part)
		n, err := strconv.Atoi(m[2])
		if err != nil {
			panic("BUG: digits are no number: " + err.Error())
		}
		return strings.Repeat(m[1], n)
	})
}

var repeats = regexp.MustCompile(`<<(.*?)\*(\d+)>>`)

// through tells what the ledger has that it may not have, and what it lacks of
// what was ordered; empty if it is as it should be.
func (p *play) through() string {
	p.t.Helper()
	got := p.ledger()
	var wrong []string
	for key, want := range p.a.Ledger {
		if prefix, many := strings.CutSuffix(key, "*"); many {
			if n := take(got, prefix); fmt.Sprint(n) != string(want) {
				wrong = append(wrong, fmt.Sprintf("%d of %s, want %s", n, key, want))
			}
			continue
		}
		if got[key] != p.canonical(want) {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %s", key, got[key], want))
		}
		delete(got, key)
	}
	for key, value := range got {
		if was := p.before(key); was == nil || p.canonical(was) != value {
			wrong = append(wrong, fmt.Sprintf("%s is %s", key, value))
		}
	}
	if posts := int(p.posts.Load()); posts != p.a.Posts {
		wrong = append(wrong, fmt.Sprintf("%d posts, want %d", posts, p.a.Posts))
	}
	slices.Sort(wrong)
	return strings.Join(wrong, "; ")
}

// ledger gives all that calls can have left in the store: the kv of the tenant
// and of another one, and the session's state.
func (p *play) ledger() map[string]string {
	p.t.Helper()
	got := map[string]string{}
	for _, tenant := range []host.TenantID{p.session.Tenant, p.session.Tenant + "-other"} {
		page, err := p.store.View(tenant, attackedSkills[p.skill][1]).Scan(context.Background(), abi.ScanQuery{Limit: 1000})
		p.must(err)
		for _, e := range page.Entries {
			got[e.Key] = p.canonical(e.Value)
		}
	}
	values, err := p.store.ListState(context.Background(), p.session, "", "", 100)
	p.must(err)
	for _, v := range values {
		got["state:"+v.Key] = p.canonical(v.Data)
	}
	return got
}

// take takes out what has a prefix, and counts it.
func take(got map[string]string, prefix string) (n int) {
	for key := range got {
		if strings.HasPrefix(key, prefix) {
			delete(got, key)
			n++
		}
	}
	return n
}

// before gives what the world had of it at first.
func (p *play) before(key string) json.RawMessage {
	if name, ok := strings.CutPrefix(key, "state:"); ok {
		return p.a.State[name]
	}
	return p.a.KV[key]
}

func (p *play) canonical(raw []byte) string {
	p.t.Helper()
	text, err := host.Canonical(raw)
	p.must(err)
	return string(text)
}
