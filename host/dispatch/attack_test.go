package dispatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// An attack is one adversarial case of testdata/attacks: what is asked for, in
// which world, and all that the ledger may hold in the end. It gets through if
// the ledger holds anything else, whatever the answer was.
type attack struct {
	Name string `json:"name"`

	// The world.
	Skill    string                     `json:"skill,omitempty"`    // guest by default
	Manifest map[string]json.RawMessage `json:"manifest,omitempty"` // merge patches of tools, by name; "" is the rest
	Policy   string                     `json:"policy,omitempty"`   // red lines
	Hooks    []string                   `json:"hooks,omitempty"`    // by name, in their order
	KV       map[string]json.RawMessage `json:"kv,omitempty"`
	State    map[string]json.RawMessage `json:"state,omitempty"`

	Steps  []attackStep               `json:"steps"`
	Ledger map[string]json.RawMessage `json:"ledger,omitempty"` // of the skill's kv; for a key ending in *, how many there are
	Posts  int                        `json:"posts,omitempty"`  // that the server outside has got

	StoppedBy string `json:"stopped_by"`     // the layer that stops the last call first
	Also      string `json:"also,omitempty"` // the one that does so without it
	Alone     string `json:"alone,omitempty"`

	// Without is the manifest without that layer, where it is switched off so.
	Without map[string]json.RawMessage `json:"without,omitempty"`
}

// An attackStep is one thing that happens; the last call is the attack.
type attackStep struct {
	Call     *attackCall                `json:"call,omitempty"`
	Answer   *attackAnswer              `json:"answer,omitempty"`
	Grant    *attackGrant               `json:"grant,omitempty"`
	Set      map[string]json.RawMessage `json:"set,omitempty"`      // the session's state, past its calls
	Put      map[string]json.RawMessage `json:"put,omitempty"`      // the skill's kv, by another session
	Release  map[string]json.RawMessage `json:"release,omitempty"`  // another release: patches, as of the manifest
	Takeover bool                       `json:"takeover,omitempty"` // another replica gets the session's lease
	Leave    bool                       `json:"leave,omitempty"`    // the caller goes
}

// An attackCall is what a model asks for, or the host in its name.
type attackCall struct {
	Tool     string                  `json:"tool"`
	Args     json.RawMessage         `json:"args"`            // to the letter; of a string, what is in it
	As       string                  `json:"as,omitempty"`    // names the question that it puts
	ID       string                  `json:"id,omitempty"`    // equal for equal words; its own by default
	Input    int                     `json:"input,omitempty"` // 1 by default
	Ordinal  int                     `json:"ordinal,omitempty"`
	Serves   int                     `json:"serves,omitempty"`
	Approval string                  `json:"approval,omitempty"` // the name of a question
	Asked    []string                `json:"asked,omitempty"`    // the names of questions that the agent knows of
	Mode     string                  `json:"mode,omitempty"`
	User     string                  `json:"user,omitempty"`
	Session  string                  `json:"session,omitempty"`
	Tenant   bool                    `json:"tenant,omitempty"` // of another tenant
	CutOff   bool                    `json:"cut_off,omitempty"`
	Fenced   bool                    `json:"fenced,omitempty"` // with the lease that the session had at first
	Recent   []json.RawMessage       `json:"recent,omitempty"` // arguments of calls of the same tool that failed just before
	Meantime map[string][]attackStep `json:"meantime,omitempty"`
}

// An attackAnswer is a person's to a question.
type attackAnswer struct {
	Of  string `json:"of"`
	Yes bool   `json:"yes,omitempty"`
	By  string `json:"by,omitempty"`
}

// An attackGrant is a standing one for a tool.
type attackGrant struct {
	Tool      string `json:"tool"`
	Condition string `json:"condition,omitempty"`
	Session   string `json:"session,omitempty"`
	User      string `json:"user,omitempty"`
	Tier      string `json:"tier,omitempty"` // hard-gate by default
}

// attackKinds are the kinds of attacks, by their files.
var attackKinds = []string{
	"extreme price", "bait", "vague orders", "injected text", "smuggled arguments", "homoglyphs", "unicode in names", "nested JSON", "huge numbers",
	"races", "double approval", "stale approval", "replayed key", "reordered hooks", "allow after deny",
}

// attacksOfAKind is how many there are of each kind at least.
const attacksOfAKind = 12

// TestNoAttackGetsThrough takes every attack through the whole gate, and then
// once more without the layer that stopped it.
func TestNoAttackGetsThrough(t *testing.T) {
	w := newAttackWorld(t)
	m := matrix{}
	for _, kind := range attackKinds {
		attacks := readAttacks(t, kind)
		if len(attacks) < attacksOfAKind {
			t.Errorf("%d attacks are of the kind %s, want %d", len(attacks), kind, attacksOfAKind)
		}
		for _, a := range attacks[:min(len(attacks), attacksUnderRace)] {
			t.Run(kind+"/"+a.Name, func(t *testing.T) { m.add(kind, w.judge(t, a)) })
		}
	}
	t.Log(m)
}

func readAttacks(t *testing.T, kind string) (attacks []attack) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "attacks", strings.ReplaceAll(kind, " ", "-")+".json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&attacks); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return attacks
}

// A stop is what became of an attack.
type stop struct {
	first string // the layer that stopped it
	also  string // the one without it; empty if it got through then, or there is no without
}

// judge holds an attack against what is expected of it.
func (w *attackWorld) judge(t *testing.T, a attack) stop {
	t.Helper()
	with := w.play(t, a, "")
	if with.through != "" {
		t.Errorf("it GETS THROUGH: %s; the call ended with %s", with.through, with.end)
	}
	s := stop{first: with.layer}
	if canLeaveOut(with.layer) || a.Without != nil {
		if without := w.play(t, a, with.layer); without.through == "" {
			s.also = without.layer
		}
	}
	if s.first != a.StoppedBy || s.also != a.Also {
		t.Errorf("stopped by %q, and without that by %q; want %q and %q; the call ended with %s", s.first, s.also, a.StoppedBy, a.Also, with.end)
	}
	if s.also == "" && a.Alone == "" {
		t.Errorf("nothing else than %s stops it, and it is not said why that is enough", s.first)
	}
	if s.also != "" && a.Alone != "" {
		t.Errorf("it is not alone")
	}
	return s
}

// A matrix counts what stops the attacks of each kind: which layer first, and
// which in its place.
type matrix map[string]map[string]*[2]int

func (m matrix) add(kind string, s stop) {
	if m[kind] == nil {
		m[kind] = map[string]*[2]int{}
	}
	also := s.also
	if also == "" {
		also = "nothing else"
	}
	for i, layer := range []string{s.first, also} {
		if m[kind][layer] == nil {
			m[kind][layer] = &[2]int{}
		}
		m[kind][layer][i]++
	}
}

// String tells, for each kind, how many attacks each layer stopped first and
// how many it stopped in another one's place.
func (m matrix) String() string {
	layers := map[string]bool{}
	for _, row := range m {
		for layer := range row {
			layers[layer] = true
		}
	}
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	all := slices.Sorted(maps.Keys(layers))
	fmt.Fprintf(out, "\nstopped first + in another's place\t%s\n", strings.Join(all, "\t"))
	for _, kind := range attackKinds {
		fmt.Fprint(out, kind)
		for _, layer := range all {
			cell := "."
			if n := m[kind][layer]; n != nil {
				cell = fmt.Sprintf("%d+%d", n[0], n[1])
			}
			fmt.Fprint(out, "\t", cell)
		}
		fmt.Fprintln(out)
	}
	out.Flush()
	return b.String()
}
