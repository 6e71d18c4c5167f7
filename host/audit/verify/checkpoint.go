package verify

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A Checkpoint is what a host signed: how many entries a log had at a time, and
// the root of their tree.
type Checkpoint struct {
	Origin string    `json:"origin"`
	Size   int64     `json:"size"`
	Root   tlog.Hash `json:"root"`
	Time   time.Time `json:"time"`
}

// ParseCheckpoint reads a signed checkpoint. The signature must be of the key, in
// the form that note.NewVerifier takes.
func ParseCheckpoint(signed []byte, key string) (Checkpoint, error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(key))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the key cannot be used: %w", err)
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return Checkpoint{}, err
	}
	return parseCheckpointText(n.Text)
}

var errCheckpoint = errors.New("it is no checkpoint of an audit log")

func parseCheckpointText(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || lines[4] != "" {
		return c, errCheckpoint
	}
	at, ok := strings.CutPrefix(lines[3], "time ")
	c.Origin = lines[0]
	c.Size, err = strconv.ParseInt(lines[1], 10, 64)
	if err != nil || c.Size < 1 || strconv.FormatInt(c.Size, 10) != lines[1] || !ok {
		return Checkpoint{}, errCheckpoint
	}
	if c.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return Checkpoint{}, errCheckpoint
	}
	if c.Time, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return Checkpoint{}, errCheckpoint
	}
	_, _, err = c.parts()
	return c, err
}

// parts gives the tenant and the log's number, which the origin names.
func (c Checkpoint) parts() (tenant string, no int64, err error) {
	rest, ok := strings.CutPrefix(c.Origin, "sluice.audit/")
	at := strings.LastIndexByte(rest, '/')
	if !ok || at < 1 {
		return "", 0, errCheckpoint
	}
	no, err = strconv.ParseInt(rest[at+1:], 10, 64)
	if err != nil || no < 1 || strconv.FormatInt(no, 10) != rest[at+1:] {
		return "", 0, errCheckpoint
	}
	return rest[:at], no, nil
}

// A tree adds up hashes; it keeps the roots of its complete subtrees only.
type tree struct {
	size int64
	edge []tlog.Hash // largest subtree first
}

func (t *tree) add(leaf tlog.Hash) {
	t.edge = append(t.edge, leaf)
	for n := t.size; n&1 != 0; n >>= 1 {
		last := len(t.edge) - 1
		t.edge = append(t.edge[:last-1], tlog.NodeHash(t.edge[last-1], t.edge[last]))
	}
	t.size++
}

// root gives the root of what was added; there must be something.
func (t *tree) root() tlog.Hash {
	last := len(t.edge) - 1
	hash := t.edge[last]
	for i := last - 1; i >= 0; i-- {
		hash = tlog.NodeHash(t.edge[i], hash)
	}
	return hash
}
