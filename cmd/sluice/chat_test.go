package main

import (
	"bytes"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestProgressIsOneLine(t *testing.T) {
	for _, tt := range []struct {
		report abi.ProgressReport
		json   bool
		want   string
	}{
		{abi.ProgressReport{Done: 1, Total: 3, Say: "一半"}, false, "  … 1/3 一半\n"},
		{abi.ProgressReport{Done: 7}, false, "  … 7\n"},
		{abi.ProgressReport{Done: 1, Say: "x"}, true, `{"kind":"progress","time":"0001-01-01T00:00:00Z","progress":{"done":1,"say":"x"}}` + "\n"},
	} {
		var out bytes.Buffer
		p := program{stdout: &out, json: tt.json}
		p.show(host.Event{Kind: host.EventProgress, Progress: &tt.report})
		if out.String() != tt.want {
			t.Errorf("%+v is shown as %q, want %q", tt.report, out.String(), tt.want)
		}
	}
}
