package sdk

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// seen is what a handler was told of its call.
type seen struct {
	Args  map[string]json.RawMessage `json:"args"`
	Call  abi.CallInfo               `json:"call"`
	State map[string]json.RawMessage `json:"state,omitempty"`
	Facts map[string]json.RawMessage `json:"facts,omitempty"`
}

// TestGuestReadsTheInvocationsOfTheContract holds the guest's side against the
// vectors that the host's side reads too.
func TestGuestReadsTheInvocationsOfTheContract(t *testing.T) {
	var s skill
	s.declare("test.vectors", "1.0.0", "Says what it sees.", nil)
	for _, name := range []string{"set_price", "quote"} {
		s.add(newTool(name, func(c Call, args map[string]json.RawMessage) (json.RawMessage, error) {
			info := abi.CallInfo{ID: c.ID(), Key: c.Key(), Attempt: c.Attempt(), Now: timeOf(c.Now()), Tenant: c.Tenant(), Live: c.Live(), Locale: c.Locale()}
			raw, err := json.Marshal(seen{args, info, c.invocation.State, c.invocation.Facts})
			return raw, err
		}, nil))
	}
	for _, v := range vectors[struct {
		Name string          `json:"name"`
		JSON json.RawMessage `json:"json"`
	}](t, "invocations.json") {
		t.Run(v.Name, func(t *testing.T) {
			var reply abi.Reply
			if err := json.Unmarshal(s.invoke(v.JSON, nil), &reply); err != nil || !reply.OK {
				t.Fatalf("reply is %+v, %v", reply, err)
			}
			got, want := exactly(t, reply.Data), exactly(t, v.JSON)
			delete(want, "abi")
			delete(want, "tool")
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the handler saw %v, want %v", got, want)
			}
		})
	}
}

// exactly decodes an object without losing a digit.
func exactly(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

// pageGrants gives one page, as bytes of the contract, to every scan.
type pageGrants struct {
	Grants
	page abi.Page
}

func (g pageGrants) KVScan(abi.ScanQuery) (abi.Page, error) { return g.page, nil }

// TestGuestReadsThePagesOfTheContract scans what the vectors hold.
func TestGuestReadsThePagesOfTheContract(t *testing.T) {
	for _, v := range vectors[struct {
		Name    string `json:"name"`
		Hex     string `json:"hex"`
		Entries []struct{ Key, Value string }
		Error   bool `json:"error"`
	}](t, "pages.json") {
		t.Run(v.Name, func(t *testing.T) {
			raw, err := hex.DecodeString(v.Hex)
			if err != nil {
				t.Fatal(err)
			}
			page, err := abi.DecodePage(raw)
			if v.Error != (err != nil) {
				t.Fatalf("error is %v, want one: %v", err, v.Error)
			}
			if err != nil {
				return
			}
			got, err := KVScan(Call{invocation: &invocation{}, env: pageGrants{page: page}}, abi.ScanQuery{})
			if err != nil || len(got.Entries) != len(v.Entries) {
				t.Fatalf("page is %+v, %v", got, err)
			}
			for i, e := range v.Entries {
				if hex.EncodeToString([]byte(got.Entries[i].Key)) != e.Key {
					t.Errorf("key %d is %q", i, got.Entries[i].Key)
				}
			}
		})
	}
}

func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "abi", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		t.Fatalf("%s: %d vectors, %v", name, len(list), err)
	}
	return list
}
