package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

// The message keeps the blob's id apart, too: an old call that is cut to one
// line still says where its whole result lies.
func TestAResultInABlobNamesIt(t *testing.T) {
	call := model.Call{ID: "a", Tool: "list"}
	data := json.RawMessage("[" + strings.Repeat(`"1001",`, 10_000) + `"1001"]`)
	o := host.Outcome{Status: host.Done, Data: data, Blob: &host.BlobRef{ID: "blob_7", Size: int64(len(data))}}
	for _, o := range []host.Outcome{o, {Status: host.Done, Data: json.RawMessage(`["1001"]`), Cut: true, Blob: o.Blob}} {
		m := resultOf(call, o)
		if m.Blob != "blob_7" || !m.OK || !strings.HasPrefix(m.Text, `["1001"`) || !strings.Contains(m.Text, "[all 70008 bytes of it are in blob blob_7;") {
			t.Errorf("it is %+v", m)
		}
	}
	for _, o := range []host.Outcome{
		{Status: host.Done, Data: json.RawMessage(`["1001"]`)},
		{Status: host.Failed, Problem: abi.NewProblem(abi.NotFound, "there is none")},
	} {
		if m := resultOf(call, o); m.Blob != "" || strings.Contains(m.Text, "blob") {
			t.Errorf("it is %+v", m)
		}
	}
}

// A turn gets more than the model sees; a later one reads the part that it
// needs, by the id that the conversation kept.
func TestALaterTurnReadsAPartOfALongResult(t *testing.T) {
	ctx := context.Background()
	m := &script{}
	h := newHouse(t, m)
	for _, pkg := range []string{"host/dispatch/testdata/flood", "skills/blobs"} {
		wasm := sandboxtest.Build(t, pkg)
		sandboxtest.Load(t, wasm, abi.Limits{})
		skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
		if _, err := h.agent.Releases.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if h.agent.Dispatch.Blobs, err = blob.Open(ctx, filepath.Join(t.TempDir(), "blobs"), blob.Options{}); err != nil {
		t.Fatal(err)
	}
	told := func() (id string) { // what the model was told last
		for _, message := range m.asked[len(m.asked)-1].Messages {
			if message.Blob != "" && strings.Contains(message.Text, message.Blob) {
				id = message.Blob
			}
		}
		return id
	}
	m.answers = []func() (model.Reply, error){
		calls(`list {"bytes":200000}`), says("There are many."),
		func() (model.Reply, error) {
			return calls(fmt.Sprintf(`read_blob_value {"id":%q,"path":"[1000].title"}`, told()))()
		},
		says("It is 青柠."),
	}
	h.mustTurn("1", "what is there?")
	answer := h.mustTurn("2", "what is the title of number 1000?")
	if len(answer.Outcomes) != 1 || !answer.Outcomes[0].OK() || !strings.Contains(string(answer.Outcomes[0].Data), "青柠") {
		t.Fatalf("the second turn ends with %.300s", fmt.Sprint(answer.Outcomes))
	}
	for _, message := range m.asked[len(m.asked)-1].Messages {
		if message.Tool == "list" && !strings.Contains(message.Text, "by its id, with read_blob_value, search_blob or read_blob]") {
			t.Errorf("the model is not told how to read on: %q", message.Text[len(message.Text)-200:])
		}
		if len(message.Text) > 3*4000+200 {
			t.Errorf("the model is shown %d bytes of %s", len(message.Text), message.Tool)
		}
	}
}
