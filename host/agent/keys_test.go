package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// A goldenValue is a value that every version has stored, in the files
// testdata/keys/NAME.vN.json: to the byte, as it lies in the store. A file is
// never changed once a release has written its version.
type goldenValue struct {
	name    string
	oldest  int // the first version that had its members
	newest  int
	encoded json.RawMessage // now
	decode  func(json.RawMessage) (any, error)
	want    any
}

func golden[T any](name string, f form[T], value T) goldenValue {
	return goldenValue{name, 0, len(f.upgrades), f.encode(value), func(data json.RawMessage) (any, error) { return f.decode(name, data) }, value}
}

// since says that its members came with a version.
func (g goldenValue) since(version int) goldenValue {
	g.oldest = version
	return g
}

// goldenValues has every form, with every member that it may have.
func goldenValues() []goldenValue {
	created := time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC)
	summary := &window.Summary{Requests: []string{"sell pens"}, Done: []string{"order pen: 2"}, Consensus: []string{"blue ones"}, Todos: []string{"ink"}, Left: 3}
	return []goldenValue{
		golden("session", sessionForm(), sessionValue{Created: created, Live: "live-7", Locale: "zh-CN", Pins: release.Pins{"shop.pricing": "1.4.0"}, Inputs: 2, Messages: 9, Active: "input_2"}),
		golden("session-live", sessionForm(), sessionValue{Created: created, Live: "live-7", Pins: release.Pins{}, Inputs: 42, Messages: 90,
			Scenes: []window.SceneStart{{Message: 0, Scene: window.PreLive}, {Message: 12, Scene: window.OnLive}}, Topics: 3, CutAt: 40, Cleared: 8}).since(1),
		golden("session-bounded", sessionForm(), sessionValue{Created: created, Pins: release.Pins{}, Inputs: 3, Messages: 9, Mode: host.ModeSuggest, Ended: 2,
			Used: host.Amount{Steps: 4, Tokens: 900, Calls: 2, Money: 17}}).since(1),
		golden("session-idle", sessionForm(), sessionValue{Created: created, Pins: release.Pins{}, Inputs: 1, Messages: 2}),
		golden("message-user", messageForm(), model.Message{Role: model.RoleUser, Text: "把 1001 改到 89 元 <now> \u2028"}),
		golden("message-calls", messageForm(), model.Message{Role: model.RoleAssistant, Text: "At once.", Reasoning: "first the price",
			Calls: []model.Call{{ID: "c0", Tool: "set_price", Args: `{"sku":"1001","price":89}`}, {ID: "c1", Tool: "quote", Args: `{"sk`, CutOff: true}}}),
		golden("message-result", messageForm(), model.Message{Role: model.RoleTool, Text: `{"price":89}`, CallID: "c0", Tool: "set_price", OK: true, Blob: "blob_1"}),
		golden("message-problem", messageForm(), model.Message{Role: model.RoleTool, Text: "no more than 0 are left", CallID: "c0", Tool: "order", Code: abi.OutOfBounds}).since(1),
		golden("input-bounded", inputForm(), inputValue{Ordinal: 2, Message: 5, Digest: "sha256:00", Used: host.Amount{Steps: 1, Tokens: 300, Calls: 1, Money: 5},
			Limit: &host.Amount{Steps: 9, Tokens: 1000, Calls: host.Unbounded, Money: host.Unbounded}}).since(1),
		golden("live-used", liveUsedForm(), liveUsedValue{Used: host.Amount{Steps: 4, Tokens: 900, Calls: 2, Money: 17}}).since(1),
		golden("message-pending", messageForm(), model.Message{Role: model.RoleTool, Text: "wait", CallID: "c0", Tool: "set_price", Code: abi.PendingApproval, Approval: "ask_1"}).since(1),
		golden("message-host", messageForm(), model.Message{Role: model.RoleUser, Text: "[From the host] yes", ByHost: true}).since(1),
		golden("session-answers", sessionForm(), sessionValue{Created: created, Pins: release.Pins{}, Inputs: 3, ByHost: 1, Messages: 9}).since(1),
		golden("message-files", messageForm(), model.Message{Role: model.RoleUser, Text: "看 @a.md\n\n[file a.md]\nx\n[end of a.md]", Said: 9}).since(1),
		golden("input-at", inputForm(), inputValue{Ordinal: 2, Message: 5, At: created, Digest: "sha256:00"}).since(1),
		golden("input-serves", inputForm(), inputValue{Ordinal: 3, Message: 7, Digest: "sha256:00", Serves: 2, Since: 5, Answer: &Answer{Text: "It waits.", Reason: Answered,
			Pending: []ApprovalRef{{ID: "ask_1", Tool: "shop.pricing.set_price", Args: json.RawMessage(`{"price":1}`), Says: []string{"so cheap"}, Digest: "00"}}}}).since(1),
		golden("input", inputForm(), inputValue{Ordinal: 2, Message: 5}),
		golden("input-digest", inputForm(), inputValue{Ordinal: 2, Message: 5, Digest: "sha256:00"}).since(1),
		golden("topics", topicsForm(), topicsValue{Topics: []window.Topic{{From: 0, To: 9, Title: "prices", Summary: *summary, Scenes: []string{window.OnLive}, Words: []string{"price"}}}}).since(1),
		golden("input-answered", inputForm(), inputValue{Ordinal: 1, Answer: &Answer{Text: "Done.", Reason: Answered, Steps: 2, Usage: model.Usage{Input: 900, Cached: 600, Output: 40}}}),
		golden("view", viewForm(), viewValue{Cut: window.Cut{Lined: 4, Summed: 3, Summary: summary, Short: []window.Shortened{{From: 5, To: 6, Room: 800}}},
			Shown: window.Shown{Tools: []string{"set_price"}, Guides: []string{"shop.pricing"}}, Meter: window.Meter{Ratio: 1.25, Input: 900, Cached: 600, Output: 40}, Compactions: 2}),
		golden("view-empty", viewForm(), viewValue{}),
		golden("compaction", compactionForm(), window.Compaction{Level: window.LevelSummary, From: 0, To: 3, Summary: summary, Before: 5200, After: 2100}),
		golden("compaction-short", compactionForm(), window.Compaction{Level: window.LevelShort, From: 5, To: 6, Room: 800, Before: 5200, After: 2100}),
	}
}

func goldenFile(name string, version int) string {
	return filepath.Join("testdata", "keys", fmt.Sprintf("%s.v%d.json", name, version))
}

func TestEveryVersionOfEveryKeyIsRead(t *testing.T) {
	unread := map[string]bool{}
	files, err := filepath.Glob(filepath.Join("testdata", "keys", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		unread[file] = true
	}
	for _, g := range goldenValues() {
		for version := g.oldest; version <= g.newest; version++ {
			file := goldenFile(g.name, version)
			delete(unread, file)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
				continue
			}
			got, err := g.decode(bytes.TrimSpace(data))
			if err != nil || !reflect.DeepEqual(got, g.want) {
				t.Errorf("%s is read as\n%+v (%v)\nwant\n%+v", file, got, err, g.want)
			}
		}
	}
	for file := range unread {
		t.Errorf("%s is of no key and version", file)
	}
}

// What is stored from now on must be kept readable: a change of what is
// written is a new version, with a file of its own.
func TestWhatIsStoredNowHasAGoldenFile(t *testing.T) {
	for _, g := range goldenValues() {
		file := goldenFile(g.name, g.newest)
		if data, err := os.ReadFile(file); err != nil || !bytes.Equal(bytes.TrimSpace(data), g.encoded) {
			t.Errorf("%s is not what is stored now (%v):\n%s", file, err, g.encoded)
		}
	}
}

// A golden value that leaves a member out would not notice its loss.
func TestGoldenValuesHaveEveryMember(t *testing.T) {
	full := map[reflect.Type]map[string]bool{}
	for _, g := range goldenValues() {
		v := reflect.ValueOf(g.want)
		if full[v.Type()] == nil {
			full[v.Type()] = map[string]bool{}
		}
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				full[v.Type()][v.Type().Field(i).Name] = true
			}
		}
	}
	for kind, members := range full {
		for i := range kind.NumField() {
			if name := kind.Field(i).Name; !members[name] {
				t.Errorf("no golden %s has %s", kind, name)
			}
		}
	}
}

func TestAValueOfANewerSluiceIsRefusedAndSaysSo(t *testing.T) {
	for _, g := range goldenValues() {
		newer := strings.Replace(string(g.encoded), fmt.Sprintf(`"v":%d`, g.newest), fmt.Sprintf(`"v":%d`, g.newest+1), 1)
		_, err := g.decode(json.RawMessage(newer))
		problem := host.ProblemOf(err)
		if err == nil || problem.Code != abi.StoreFailure || !strings.Contains(problem.Message, fmt.Sprintf("%s has version %d; this Sluice knows %d", g.name, g.newest+1, g.newest)) || !strings.Contains(problem.Hint, "newer") {
			t.Errorf("%s: got %v", g.name, err)
		}
	}
	h := newHouse(t, nil)
	if err := h.store.SaveState(t.Context(), session.Ref, state.Change{Key: keySession, Data: []byte(`{"v":99}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.turn("1", "hello"); err == nil || !strings.Contains(err.Error(), keySession+" has version 99") {
		t.Errorf("the turn ends with %v", err)
	}
}

func TestAValueThatIsNoneIsRefused(t *testing.T) {
	for _, bad := range []string{``, `null x`, `[]`, `"v"`, `{"v":"1"}`, `{"v":-1}`, `{"v":1.5}`, `{"v":1,"inputs":"x"}`} {
		if _, err := sessionForm().decode(keySession, json.RawMessage(bad)); err == nil || host.ProblemOf(err).Code != abi.StoreFailure || !strings.Contains(err.Error(), keySession) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Each version is upgraded by what lies between it and the newest.
func TestOlderValuesGoThroughEveryUpgradeThatTheyLack(t *testing.T) {
	type shape struct {
		Name string `json:"name"`
	}
	renamed := func(from, to string) upgrade {
		return func(data json.RawMessage) (json.RawMessage, error) {
			return bytes.Replace(data, []byte(`"`+from+`":`), []byte(`"`+to+`":`), 1), nil
		}
	}
	f := form[shape]{[]upgrade{renamed("a", "b"), renamed("b", "name")}}
	for _, data := range []string{`{"a":"x"}`, `{"v":1,"b":"x"}`, `{"v":2,"name":"x"}`} {
		if got, err := f.decode("key", json.RawMessage(data)); err != nil || got.Name != "x" {
			t.Errorf("%s is read as %+v, %v", data, got, err)
		}
	}
	if got := string(f.encode(shape{"x"})); got != `{"v":2,"name":"x"}` {
		t.Errorf("it is stored as %s", got)
	}
	broken := form[shape]{[]upgrade{func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("lost") }}}
	if _, err := broken.decode("key", json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("an upgrade that fails gives %v", err)
	}
}

func FuzzStoredMessage(f *testing.F) {
	for _, g := range goldenValues() {
		f.Add([]byte(g.encoded))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := messageForm().decode("key", data)
		if err != nil {
			return
		}
		again, err := messageForm().decode("key", messageForm().encode(m))
		if err != nil || !reflect.DeepEqual(fmt.Sprint(again), fmt.Sprint(m)) {
			t.Errorf("%s\nis read as %+v\nand that as %+v, %v", data, m, again, err)
		}
	})
}
