package airdb_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

func TestSameResult(t *testing.T) {
	gone := abi.NewProblem(abi.NotFound, "user not found")
	for _, tt := range []struct {
		name, recorded, data string
		problem              *abi.Problem
		want                 string // part of the difference; empty if they are the same
	}{
		{"an object in another order", `{"a": 1, "b": [2]}`, `{"b":[2.0],"a":1e0}`, nil, ""},
		{"a text", "Transfer successful", `"Transfer successful"`, nil, ""},
		{"an empty text", "", `""`, nil, ""},
		{"a number as text", "305.0", `"305.0"`, nil, ""},
		{"a number as number", "305.0", `305`, nil, ""},
		{"another number as text", "305.0", `"305"`, nil, `$: recorded 305, got "305"`},
		{"an error", "Error: user not found", ``, gone, ""},
		{"another error", "Error: reservation not found", ``, gone, "got the problem 3004"},
		{"an error instead of data", `{"a": 1}`, ``, gone, "got the problem 3004"},
		{"data instead of an error", "Error: user not found", `{"a":1}`, nil, `recorded Error: user not found, got {"a":1}`},
		{"data instead of nothing", "", `{"a":1}`, nil, "recorded nothing is not JSON"},
		{"nothing instead of data", `[]`, ``, nil, "got nothing, which is not JSON"},
		{"data with more text", `[]`, `[] []`, nil, "more text after the value"},
		{"a member too few", `{"a": {"b": 1, "c": 2}}`, `{"a":{"b":1}}`, nil, "$.a.c: recorded 2, got nothing"},
		{"a member too many", `{"a": {"b": 1}}`, `{"a":{"b":1,"c":2}}`, nil, "$.a.c: recorded nothing, got 2"},
		{"another order of items", `[1, 2]`, `[2,1]`, nil, "$[0]: recorded 1, got 2"},
		{"an item too few", `[1, 2]`, `[1]`, nil, "$: recorded 2 items, got 1"},
		{"null for a list", `[]`, `null`, nil, "$: recorded [], got null"},
		{"a list for null", `null`, `[]`, nil, "$: recorded null, got []"},
		{"a text for a number", `[1]`, `["1"]`, nil, `$[0]: recorded 1, got "1"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := airdb.SameResult(tt.recorded, json.RawMessage(tt.data), tt.problem)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("SameResult: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSameFinal(t *testing.T) {
	start := map[string]string{"reservation/R1": `{"a":1}`, "user/u": `{"b":2}`, "flight/HAT1": `{"order":0}`}
	original := func(key string) ([]byte, bool) { v, found := start[key]; return []byte(v), found }
	for _, tt := range []struct {
		name, recorded string
		changes        []airdb.Change
		want           string
	}{
		{"nothing", `{}`, nil, ""},
		{"written back as it was", `{}`, []airdb.Change{{Key: "user/u", Value: []byte(`{ "b": 2.0 }`)}, {Key: "flight/HAT1", Value: []byte(`{"order":0}`)}}, ""},
		{"a new one that was deleted again", `{}`, []airdb.Change{{Key: "reservation/R2", Deleted: true}}, ""},
		{"changed, new and removed", `{"reservations": {"changed": {"R2": {"a": 2}}, "removed": ["R1"]}, "users": {"changed": {"u": {"b": 3}}, "removed": []}}`,
			[]airdb.Change{{Key: "user/u", Value: []byte(`{"b":3}`)}, {Key: "reservation/R2", Value: []byte(`{"a":2}`)}, {Key: "reservation/R1", Deleted: true}}, ""},
		{"a change too few", `{"users": {"changed": {"u": {"b": 3}}, "removed": []}}`, nil, "$.users: recorded"},
		{"a change too many", `{}`, []airdb.Change{{Key: "user/u", Value: []byte(`{"b":3}`)}}, "$.users: recorded nothing"},
		{"another value", `{"users": {"changed": {"u": {"b": 3}}, "removed": []}}`, []airdb.Change{{Key: "user/u", Value: []byte(`{"b":4}`)}}, "$.users.changed.u.b: recorded 3, got 4"},
		{"a flight", `{}`, []airdb.Change{{Key: "flight/HAT1", Value: []byte(`{"order":1}`)}}, "flight/HAT1 changed"},
		{"a value that is not JSON", `{}`, []airdb.Change{{Key: "user/u", Value: []byte(`{`)}}, "user/u: not JSON: {"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := airdb.SameFinal(json.RawMessage(tt.recorded), tt.changes, original)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("SameFinal: %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzSameJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,null,"x"]}`, `[]`, `1e400`, `{`, `{"a":1} 2`, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := airdb.SameJSON(text, text)
		var v any
		if readable := json.Unmarshal(text, &v) == nil; readable != (err == nil) {
			t.Fatalf("%q is JSON: %v; compared with itself: %v", text, readable, err)
		}
	})
}

func FuzzEntries(f *testing.F) {
	for _, name := range []string{"flights.json", "users.json", "reservations.json", "airports.json"} {
		f.Add(name, sample()[name].Data)
	}
	f.Add("flights.json", []byte(`{"HAT1": {"dates": [`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		fsys := sample()
		if _, ok := fsys[name]; !ok {
			return
		}
		fsys[name].Data = data
		entries, err := airdb.Entries(fsys)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for key, value := range entries {
			if seen[key] || !json.Valid(value) {
				t.Fatalf("%s comes twice (%v) or is not JSON: %s", key, seen[key], value)
			}
			seen[key] = true
		}
	})
}
