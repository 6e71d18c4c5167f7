package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
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
