package main

import (
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/sandbox/shell/text"
)

// Bounds of one script. A host bounds fuel and memory beside them; these end a
// script with words that say what to do.
const (
	maxSteps  = 100_000   // commands and rounds of loops
	maxMoved  = 512 << 20 // bytes written from command to command: the largest blob, a few times
	maxHeld   = 64 << 20  // bytes that commands keep in memory
	maxStdout = 1 << 20   // bytes of a result: a model sees 4,000 characters of it, and reads on by scripts
	maxStderr = 8 << 10
)

// limits are the bounds of a script; tests have smaller ones.
type limits struct {
	steps       int
	moved, held int64
}

func run(c sdk.Call, in Script) (Printed, error) {
	return evaluate(in, limits{maxSteps, maxMoved, maxHeld}, func(b *text.Budget, id string) *text.Source { return blobSource(c, b, id) })
}

// evaluate runs a script over the blobs that open gives.
func evaluate(in Script, l limits, open func(b *text.Budget, id string) *text.Source) (Printed, error) {
	file, err := parse(in.Script)
	if err != nil {
		return Printed{}, err
	}
	judged, err := judge(in.Script, file)
	if err != nil {
		return Printed{}, err
	}
	if in.DryRun {
		return Printed{Commands: judged.commands}, nil
	}
	s := newShell(l, open)
	stdin := text.SourceOf(s.budget, "")
	if in.Input != "" {
		if stdin, err = s.blob(in.Input); err != nil {
			return Printed{}, sdk.BadArgument("input", "%v", err)
		}
	}
	out, complaints := collector{most: maxStdout}, collector{most: maxStderr}
	s.list(file.Stmts, streams{stdin, out.sink(s.budget, &s.ended), complaints.sink(s.budget, nil)})
	if err := s.budget.Stopped(); err != nil {
		return Printed{}, err
	}
	return Printed{Status: s.status, Stdout: out.text(), Stderr: complaints.text(), Cut: out.over}, nil
}

// A collector keeps what is written, up to a bound.
type collector struct {
	b    []byte
	most int
	over bool
}

// sink takes what is written. Where no more fits, full is set and the writer
// ends; without full the rest is lost, and the writer goes on.
func (c *collector) sink(b *text.Budget, full *bool) *text.Sink {
	return text.NewSink(b, func(p []byte) bool {
		fits := min(len(p), c.most-len(c.b))
		c.b = append(c.b, p[:fits]...)
		if fits == len(p) {
			return true
		}
		c.over = true
		if full == nil {
			return true
		}
		*full = true
		return false
	})
}

// text gives what was written as text: bytes that are none are shown as such.
func (c *collector) text() string {
	b := strings.ToValidUTF8(string(c.b), "\uFFFD")
	if c.over {
		b = strings.TrimSuffix(b, "\uFFFD") // a character that was cut
	}
	return b
}

// pieceBytes is what is read of a blob at once.
const pieceBytes = 256 << 10

// blobSource reads a blob in pieces. One that cannot be read ends the script.
func blobSource(c sdk.Call, b *text.Budget, id string) *text.Source {
	at, end := int64(0), false
	in := text.NewSource(b, func() []byte {
		if end {
			return nil
		}
		piece, err := sdk.BlobRead(c, id, at, pieceBytes)
		if err != nil {
			b.Stop(explained(err, id))
			return nil
		}
		at += int64(len(piece))
		end = len(piece) < pieceBytes
		return piece
	})
	in.Blob = true
	return in
}

// explained says what to do about a blob that is not there.
func explained(err error, id string) error {
	if p, ok := err.(*abi.Problem); ok && p.Code == abi.NotFound {
		return abi.NewProblem(abi.NotFound, "there is no blob %.80q", id).
			WithHint("Use an id to the letter as a result or an upload of this session named it.")
	}
	return err
}

// blobName gives the id in a name such as blob:ID, @ID, or an id by itself.
func blobName(name string) (id string, ok bool) {
	for _, mark := range []string{"blob:", "@"} {
		if id, ok := strings.CutPrefix(name, mark); ok {
			return id, id != ""
		}
	}
	return name, strings.HasPrefix(name, "blob_") && !strings.ContainsAny(name, "/. ")
}
