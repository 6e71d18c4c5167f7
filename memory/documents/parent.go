package documents

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// ParentBytes bounds a parent: what a reader may be given around a chunk.
const ParentBytes = 1 << 20

// A Parent is a document, or a part of one that is larger than ParentBytes. It begins
// and ends where a chunk does.
type Parent struct {
	ID     string `json:"id"` // of the document, # and its number
	Start  int64  `json:"start"`
	End    int64  `json:"end"`    // exclusive; bytes of the source
	Digest string `json:"digest"` // SHA-256 of the text, in hexadecimal
}

// Read gives the parent's text from the source that was cut. It fails where the
// source is not what it was then. Whether the reader may see the source is for the
// caller to know: a Parent is a place and no permission.
func (p Parent) Read(source io.ReaderAt) (string, error) {
	if p.Start < 0 || p.End < p.Start || p.End-p.Start > ParentBytes {
		return "", host.Fail("documents.Parent.Read", abi.NewProblem(abi.BadValue, "%s has no range that a part of a document can have", p.ID).
			WithHint("cut the document again"), nil)
	}
	text := make([]byte, p.End-p.Start)
	if n, err := source.ReadAt(text, p.Start); n < len(text) {
		return "", p.changed(err)
	}
	if host.Digest(text) != p.Digest {
		return "", p.changed(nil)
	}
	return string(text), nil
}

func (p Parent) changed(cause error) error {
	return host.Fail("documents.Parent.Read", abi.NewProblem(abi.Contradicted, "the document of %s is not what it was when it was learned", p.ID).
		WithHint("import the document again: what is still there stays, and what is gone is superseded"), cause)
}

// parents puts chunks into parents.
type parents struct {
	document string
	done     []Parent
	open     Parent
	sum      hash.Hash // of open
}

// begin begins the first parent, behind the byte order mark.
func (p *parents) begin(at int64) {
	p.open = Parent{ID: parentID(p.document, len(p.done)+1), Start: at, End: at}
	p.sum = sha256.New()
}

// add adds the piece at a place, and tells its parent, and whether it begins one
// that is not the first.
func (p *parents) add(at int64, own string) (number int, fresh bool) {
	if at+int64(len(own))-p.open.Start > ParentBytes {
		p.end(at)
		p.begin(at)
		fresh = true
	}
	io.WriteString(p.sum, own) // a hash never fails
	return len(p.done) + 1, fresh
}

// end ends the open parent, if it holds anything.
func (p *parents) end(at int64) {
	if at == p.open.Start {
		return
	}
	p.open.End = at
	p.open.Digest = hex.EncodeToString(p.sum.Sum(nil))
	p.done = append(p.done, p.open)
}

// parentID names a part of a document.
func parentID(document string, number int) string { return fmt.Sprintf("%s#%d", document, number) }
