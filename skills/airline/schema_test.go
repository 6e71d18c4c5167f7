package main

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk/skilltest"
)

// A described is the part of a JSON Schema that tells a model what to send.
type described struct {
	Type        string               `json:"type"`
	Description string               `json:"description"`
	Enum        []string             `json:"enum"`
	Properties  map[string]described `json:"properties"`
	Required    []string             `json:"required"`
	Items       *described           `json:"items"`
	Additional  *bool                `json:"additionalProperties"`
}

func TestTheToolsAreDescribedAsTheModelSawThem(t *testing.T) {
	data, err := fs.ReadFile(shared(t), "tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Function struct {
			Name, Description string
			Parameters        described
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	ours := map[string]abi.Tool{}
	for _, tool := range skilltest.New(t).Manifest().Tools {
		ours[tool.Name] = tool
	}
	if len(recorded) != len(ours) {
		t.Errorf("%d tools, recorded %d", len(ours), len(recorded))
	}
	for _, r := range recorded {
		tool, ok := ours[r.Function.Name]
		// The recorded summary of this tool is that of the direct search,
		// word for word.
		if r.Function.Name != "search_onestop_flight" && tool.Summary != r.Function.Description {
			t.Errorf("%s: summary %q, recorded %q", r.Function.Name, tool.Summary, r.Function.Description)
		}
		var input described
		if err := json.Unmarshal(tool.Input, &input); !ok || err != nil {
			t.Errorf("%s: found %v, schema: %v", r.Function.Name, ok, err)
			continue
		}
		sameSchema(t, r.Function.Name, r.Function.Parameters, input)
	}
}

// sameSchema compares what must be sent. Ours refuses what the recorded one
// does not name, except where models were seen to send more.
func sameSchema(t *testing.T, path string, want, got described) {
	t.Helper()
	if want.Type != got.Type || !reflect.DeepEqual(want.Enum, got.Enum) {
		t.Errorf("%s: type %s %v, recorded %s %v", path, got.Type, got.Enum, want.Type, want.Enum)
	}
	slices.Sort(want.Required)
	slices.Sort(got.Required)
	if !slices.Equal(want.Required, got.Required) {
		t.Errorf("%s: required %v, recorded %v", path, got.Required, want.Required)
	}
	if got.Type == "object" && (got.Additional == nil || *got.Additional) {
		t.Errorf("%s: accepts any other member", path)
	}
	for name := range got.Properties {
		if _, ok := want.Properties[name]; !ok && !slices.Contains(seenBesides(), path+"."+name) {
			t.Errorf("%s.%s is not recorded", path, name)
		}
	}
	for name, w := range want.Properties {
		sameSchema(t, path+"."+name, w, got.Properties[name])
	}
	if want.Items != nil && got.Items != nil {
		sameSchema(t, path+"[]", *want.Items, *got.Items)
	} else if want.Items != got.Items {
		t.Errorf("%s: items differ", path)
	}
}

// seenBesides lists the members that models send although no schema has them.
func seenBesides() []string {
	return []string{
		"update_reservation_flights.flights[].origin", "update_reservation_flights.flights[].destination",
		"book_reservation.flights[].origin", "book_reservation.flights[].destination",
	}
}

func TestWritesDeclareWhatTheyTouch(t *testing.T) {
	targets := map[string]string{
		"book_reservation": "[args.user_id]", "send_certificate": "[args.user_id]", "cancel_reservation": "[args.reservation_id]",
		"update_reservation_baggages": "[args.reservation_id]", "update_reservation_flights": "[args.reservation_id]", "update_reservation_passengers": "[args.reservation_id]",
	}
	for _, tool := range skilltest.New(t).Manifest().Tools {
		want, writes := targets[tool.Name]
		if (tool.Effect == abi.Write) != writes {
			t.Errorf("%s has the effect %s", tool.Name, tool.Effect)
		}
		if writes && (tool.Targets != want || tool.Risk != abi.SoftGate || !tool.Idempotent || tool.Breadth != abi.One) {
			t.Errorf("%s: targets %q, risk %s, idempotent %v, breadth %s", tool.Name, tool.Targets, tool.Risk, tool.Idempotent, tool.Breadth)
		}
	}
}
