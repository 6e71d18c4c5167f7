// Package room declares a skill that uses every front of a session's blobs,
// files and memories, of progress and of http. The tests run it natively and as
// a module.
package room

import (
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ = sdk.Skill("test.room", "1.0.0", "Uses everything that a session has.", sdk.Positioning("For tests only."),
	sdk.Blob(abi.AccessWrite), sdk.Files(abi.AccessWrite), sdk.Memory([]string{"fact"}, []string{"fact"}), sdk.ReportsProgress(),
	sdk.Hosts(abi.HTTPRule{Host: "example.com", Methods: []string{"GET"}, Paths: []string{"/*"}}))

var (
	_ = sdk.Tool("write", do, sdk.Summary("Run steps that may write."), sdk.Write, sdk.Idempotent, sdk.Targets("['room']"), sdk.Example("Nothing", Steps{}, sdk.Returns([]string{})))
	_ = sdk.Tool("read", do, sdk.Summary("Run steps that only read."), sdk.Example("Nothing", Steps{}, sdk.Returns([]string{})))
)

// Steps are run in order; each says what it gave.
type Steps struct {
	Steps []Step `json:"steps,omitempty"`
}

// A Step is one use of a front.
type Step struct {
	Do   string `json:"do"`
	Name string `json:"name,omitempty"`
	Data string `json:"data,omitempty"`
	Hash string `json:"hash,omitempty"`
	From int64  `json:"from,omitempty"`
	Size int64  `json:"size,omitempty"`
}

func do(c sdk.Call, in Steps) ([]string, error) {
	said := []string{}
	blob := ""
	for _, s := range in.Steps {
		text, err := s.run(c, &blob)
		if err != nil {
			return nil, err
		}
		said = append(said, text)
	}
	return said, nil
}

// run uses one front; blob is the id of the last blob that was written.
func (s Step) run(c sdk.Call, blob *string) (string, error) {
	switch s.Do {
	case "blob write":
		id, err := sdk.BlobWrite(c, abi.BlobInfo{Name: s.Name, Type: "text/plain"}, []byte(s.Data))
		*blob = id
		return fmt.Sprint(len(id)), err
	case "blob read":
		b, err := sdk.BlobRead(c, *blob, s.From, s.Size)
		return string(b), err
	case "file write":
		return sdk.FileWrite(c, s.Name, []byte(s.Data))
	case "file write if":
		return sdk.FileWriteIf(c, s.Name, []byte(s.Data), s.Hash)
	case "file read":
		b, err := sdk.FileRead(c, s.Name)
		return string(b), err
	case "file list":
		entries, err := sdk.FileList(c, s.Name)
		return strings.TrimSpace(fmt.Sprintln(entries)), err
	case "file remove":
		return "removed", sdk.FileRemove(c, s.Name)
	case "recall":
		hits, err := sdk.Recall(c, abi.RecallQuery{Query: s.Data})
		return fmt.Sprint(hits), err
	case "remember":
		return "remembered", sdk.Remember(c, abi.Memory{Kind: s.Name, Text: s.Data})
	case "progress":
		return "told", sdk.Progress(c, s.From, s.Size, s.Data)
	case "http":
		r, err := sdk.HTTP(c, abi.HTTPRequest{Method: "GET", URL: s.Name, Headers: map[string]string{"Accept": "text/plain"}}, []byte(s.Data))
		return fmt.Sprint(r.Status, r.Headers["x"], string(r.Body)), err
	}
	return "", sdk.BadArgument("do", "is no step")
}
