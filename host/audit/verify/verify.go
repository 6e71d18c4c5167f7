package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What is wrong.
const (
	Changed   = "changed"   // a record is not the one that was sealed
	Removed   = "removed"   // an entry, or its payload, is gone
	Reordered = "reordered" // an entry stands elsewhere
	Added     = "added"     // a record was never sealed, or stands twice
	Signature = "signature" // a checkpoint is not signed by the key
	Forked    = "forked"    // the entries are not those of a checkpoint that was signed
	Truncated = "truncated" // the log is shorter than a checkpoint says that it was
	Seam      = "seam"      // two logs do not follow on each other
	Malformed = "malformed" // what is published cannot be read
)

// A Finding is the first thing that is wrong.
type Finding struct {
	What    string `json:"what"`
	Log     int64  `json:"log"`               // from 1
	Index   int64  `json:"index"`             // of the entry in the log; -1 if it is none's
	Seq     int64  `json:"seq,omitempty"`     // of the record
	Message string `json:"message"`           // in words
	Pending bool   `json:"pending,omitempty"` // may be gone when what is not sealed yet is: an erasure that has no record yet
}

// A Log is what was found of one log.
type Log struct {
	Checkpoint
	Key    string `json:"key"`
	Erased int64  `json:"erased"` // entries
}

// A Report is the result of a verification.
type Report struct {
	Tenant  string   `json:"tenant"`
	Entries int64    `json:"entries"`
	Logs    []Log    `json:"logs"`
	Trusted bool     `json:"trusted"` // one of the keys is one that was named
	Finding *Finding `json:"finding,omitempty"`
}

// Options are what the caller brings along.
type Options struct {
	Keys        []string // that he trusts, as note.NewVerifier takes them; without any, those that are published count, which shows no more than that nothing was damaged since
	Checkpoints [][]byte // that he has kept
}

// Bounds of what is read.
const (
	maxLogs       = 10_000
	maxSmallBytes = 64 << 10  // of a checkpoint or key
	maxLineBytes  = 512 << 20 // a record's detail at its ceiling of 65 MiB, every byte escaped, and some
)

// Folder verifies the published logs of a tenant. The error says that they could
// not be read; what is wrong with them is the report's finding.
func Folder(fsys fs.FS, opts Options) (Report, error) {
	v := &verifier{fsys: fsys, erased: map[place]int64{}}
	err := v.run(opts)
	var found *Finding
	if errors.As(err, &found) {
		v.report.Finding, err = found, nil
	}
	return v.report, err
}

// Error makes a finding what ends the work.
func (f *Finding) Error() string { return f.Message }

type place struct{ log, index int64 }

type verifier struct {
	fsys   fs.FS
	report Report
	kept   map[int64][]Checkpoint // by log, smallest first
	erased map[place]int64        // seqs; without a record of the erasure yet
	next   struct{ origin, key string }
	last   struct {
		origin     string
		checkpoint string
		seq        int64
	}
}

func (v *verifier) run(opts Options) error {
	if err := v.heads(opts); err != nil {
		return err
	}
	for no := range v.report.Logs {
		if err := v.log(int64(no) + 1); err != nil {
			return err
		}
	}
	if v.next.origin != "" {
		return found(Truncated, int64(len(v.report.Logs)), -1, 0, "the log is followed by %s, which is not there", v.next.origin)
	}
	left := slices.SortedFunc(maps.Keys(v.erased), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.index, b.index))
	})
	if len(left) > 0 {
		f := found(Removed, left[0].log, left[0].index, v.erased[left[0]], "the payload of record %d is gone, and no record says that it was erased", v.erased[left[0]])
		f.Pending = true
		return f
	}
	return nil
}

// found makes a finding.
func found(what string, log, index, seq int64, format string, args ...any) *Finding {
	return &Finding{What: what, Log: log, Index: index, Seq: seq, Message: fmt.Sprintf("log %d: ", log) + fmt.Sprintf(format, args...)}
}

// heads reads the checkpoints and keys of all logs.
func (v *verifier) heads(opts Options) error {
	for no := int64(1); no <= maxLogs; no++ {
		signed, err := v.small(no, "checkpoint")
		if no > 1 && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		key, err := v.small(no, "key")
		if err != nil {
			return err
		}
		if err := v.head(no, signed, strings.TrimSpace(string(key)), opts.Keys); err != nil {
			return err
		}
	}
	if len(opts.Keys) > 0 && !v.report.Trusted {
		return found(Signature, 1, -1, 0, "no log is signed with the key that you trust; this one has %s", v.report.Logs[0].Key)
	}
	return v.sortKept(opts.Checkpoints)
}

func (v *verifier) head(no int64, signed []byte, key string, trusted []string) error {
	c, err := ParseCheckpoint(signed, key)
	if err != nil {
		return found(Signature, no, -1, 0, "the checkpoint is not signed with %s: %v", key, err)
	}
	tenant, number, err := c.parts()
	if err != nil || number != no || no > 1 && tenant != v.report.Tenant {
		return found(Signature, no, -1, 0, "the checkpoint is that of %s", c.Origin)
	}
	v.report.Tenant = tenant
	v.report.Logs = append(v.report.Logs, Log{Checkpoint: c, Key: key})
	if slices.ContainsFunc(trusted, func(k string) bool { return strings.TrimSpace(k) == key }) {
		v.report.Trusted = true
	}
	return nil
}

// sortKept finds whose the kept checkpoints are.
func (v *verifier) sortKept(all [][]byte) error {
	v.kept = map[int64][]Checkpoint{}
	for i, signed := range all {
		at := slices.IndexFunc(v.report.Logs, func(l Log) bool {
			c, err := ParseCheckpoint(signed, l.Key)
			return err == nil && c.Origin == l.Origin
		})
		if at < 0 {
			return found(Signature, int64(len(v.report.Logs)), -1, 0, "checkpoint %d of those that you kept is signed with no key of these logs, or its log is gone", i+1)
		}
		l := v.report.Logs[at]
		c, err := ParseCheckpoint(signed, l.Key)
		if err != nil {
			return err
		}
		if c.Size > l.Size {
			return found(Truncated, int64(at)+1, l.Size, 0, "the log has %d entries; at %s it had %d", l.Size, c.Time.Format("2006-01-02 15:04:05"), c.Size)
		}
		v.kept[int64(at)+1] = append(v.kept[int64(at)+1], c)
	}
	for _, kept := range v.kept {
		slices.SortFunc(kept, func(a, b Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
	}
	return nil
}

func (v *verifier) small(no int64, name string) ([]byte, error) {
	f, err := v.fsys.Open(strconv.FormatInt(no, 10) + "/" + name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmallBytes+1))
	if err == nil && len(data) > maxSmallBytes {
		err = fmt.Errorf("%d/%s has more than %d bytes", no, name, maxSmallBytes)
	}
	return data, err
}
