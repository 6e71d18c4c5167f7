// Command scribe is a skill that writes what it is told to, and says of it what
// it is told to say, for the tests of how a result is verified.
package main

import (
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ = sdk.Skill("test.scribe", "1.0.0", "Writes what it is told to.",
	sdk.Positioning("Use it in tests. Never elsewhere."), sdk.KV("scribe"), sdk.Files(abi.AccessWrite), sdk.Blob(abi.AccessWrite),
	sdk.Limit(abi.Limits{Input: abi.MiB, Fuel: 1_000_000_000, Memory: 128 * abi.MiB, Deadline: 20 * abi.Second}))

// A Task says what to write, and what to answer.
type Task struct {
	Price  float64         `json:"price,omitempty"`
	Only   bool            `json:"only,omitempty"` // the files, and nothing of its own
	Files  []File          `json:"files,omitempty"`
	Remove []string        `json:"remove,omitempty"`
	Blob   string          `json:"blob,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// A File is one that is written.
type File struct {
	Path  string `json:"path"`
	Text  string `json:"text"`
	Times int    `json:"times,omitempty"` // that the text is repeated, once if left out
}

// An Answer is what write gives where it is told nothing else.
type Answer struct {
	Blob string `json:"blob,omitempty"`
}

// A Quote is what the business knows.
type Quote struct {
	Price    float64 `json:"price"`
	Currency string  `json:"currency"`
}

// An Empty has nothing.
type Empty struct{}

var _ = sdk.Tool("quote", quote, sdk.Summary("Say the price."), sdk.Example("how much", Empty{}))

func quote(c sdk.Call, _ Empty) (Quote, error) {
	q := Quote{Price: 98, Currency: "CNY"}
	_, err := sdk.KVGetJSON(c, "price", &q.Price)
	return q, err
}

var _ = sdk.Tool("write", write, sdk.Summary("Write files."), sdk.Write, sdk.Idempotent, sdk.Targets("['scribe']"), sdk.Example("write", Task{}),
	sdk.Fact("price", abi.FactSpec{Tool: "quote", At: "price"}), sdk.Fact("currency", abi.FactSpec{Tool: "quote", At: "currency"}))

func write(c sdk.Call, in Task) (json.RawMessage, error) {
	if !in.Only { // whatever comes of the rest, this shows whether the call was kept
		if err := sdk.KVPut(c, "kept", []byte("1")); err != nil {
			return nil, err
		}
	}
	for _, f := range in.Files {
		text := make([]byte, 0, len(f.Text)*max(f.Times, 1))
		for range max(f.Times, 1) {
			text = append(text, f.Text...)
		}
		if _, err := sdk.FileWrite(c, f.Path, text); err != nil {
			return nil, err
		}
	}
	for _, path := range in.Remove {
		if err := sdk.FileRemove(c, path); err != nil {
			return nil, err
		}
	}
	if in.Blob != "" {
		id, err := sdk.BlobWrite(c, abi.BlobInfo{Type: "application/json", Name: "x.json"}, []byte(in.Blob))
		if err != nil {
			return nil, err
		}
		return json.Marshal(Answer{Blob: id})
	}
	return in.Answer, nil
}

func main() {}
