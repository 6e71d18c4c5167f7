package verify

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

// A reading is one log while its entries are read.
type reading struct {
	v    *verifier
	no   int64
	head *Log
	kept []Checkpoint // that are still to be met
	tree tree
	seen struct{ closing, opening bool }
}

func (v *verifier) log(no int64) error {
	r := &reading{v: v, no: no, head: &v.report.Logs[no-1], kept: v.kept[no]}
	if err := r.wantNext(); err != nil {
		return err
	}
	if err := v.lines(no, r.line); err != nil {
		return err
	}
	if r.tree.size < r.head.Size {
		return found(Removed, no, r.tree.size, 0, "entry %d and all after it are gone: the checkpoint has %d", r.tree.size, r.head.Size)
	}
	signed, err := v.small(no, "checkpoint")
	v.last.origin, v.last.checkpoint = r.head.Origin, string(signed)
	if no > 1 && !r.seen.opening {
		return found(Seam, no, 0, 0, "the first entry does not name the log before")
	}
	return err
}

// wantNext takes up what the log before said of this one.
func (r *reading) wantNext() error {
	want := r.v.next
	if r.no > 1 && (want.origin != r.head.Origin || want.key != r.head.Key) {
		return found(Seam, r.no, -1, 0, "the log before is followed by %q with the key %q, and not by this one", want.origin, want.key)
	}
	r.v.next.origin, r.v.next.key = "", ""
	return nil
}

// lines gives the lines of a log's entries, each until the next.
func (v *verifier) lines(no int64, take func(line []byte) error) error {
	f, err := v.fsys.Open(strconv.FormatInt(no, 10) + "/entries.jsonl")
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var long []byte // of a line that is longer than the buffer
	for {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxLineBytes {
				return fmt.Errorf("log %d has a line of more than %d bytes", no, maxLineBytes)
			}
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		line := part
		if long != nil {
			line, long = append(long, part...), nil
		}
		if len(line) > 0 {
			if err := take(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// line takes the next entry.
func (r *reading) line(line []byte) error {
	at := r.tree.size
	e, err := parseEntry(line)
	if err != nil {
		return found(Malformed, r.no, at, e.Seq, "entry %d cannot be read: %v", at, err)
	}
	if err := r.place(e); err != nil {
		return err
	}
	hash := e.hash(r.v.report.Tenant)
	if *e.Leaf != hash {
		return r.mismatch(e, hash)
	}
	if e.Seam == "" && e.Seq <= r.v.last.seq {
		return found(Reordered, r.no, at, e.Seq, "record %d stands behind record %d", e.Seq, r.v.last.seq)
	}
	r.tree.add(hash)
	r.v.report.Entries++
	if err := r.means(e); err != nil {
		return err
	}
	return r.meet()
}

// place says whether the entry is the next one.
func (r *reading) place(e entry) error {
	at := r.tree.size
	switch {
	case e.Unsealed:
		return found(Added, r.no, -1, e.Seq, "record %d was never sealed, and stands among those that were", e.Seq)
	case e.Missing:
		return found(Removed, r.no, e.Index, e.Seq, "record %d is gone", e.Seq)
	case e.Index == at && at >= r.head.Size, e.Index < at:
		return found(Added, r.no, e.Index, e.Seq, "entry %d, record %d, is one more than was sealed", e.Index, e.Seq)
	case e.Index > at && r.elsewhere(func(o entry) bool { return o.Index == at }):
		return found(Reordered, r.no, at, e.Seq, "record %d stands in the place of entry %d", e.Seq, at)
	case e.Index > at:
		return found(Removed, r.no, at, 0, "entry %d is gone", at)
	case r.seen.closing:
		return found(Seam, r.no, at, e.Seq, "entry %d comes after the log was closed", at)
	}
	return nil
}

// mismatch tells a record that stands elsewhere from one that was changed.
func (r *reading) mismatch(e entry, hash tlog.Hash) error {
	at := r.tree.size
	if r.elsewhere(func(o entry) bool { return o.Leaf != nil && *o.Leaf == hash }) {
		return found(Reordered, r.no, at, e.Seq, "record %d stands in the place of entry %d", e.Seq, at)
	}
	return found(Changed, r.no, at, e.Seq, "record %d, entry %d, is not the one that was sealed", e.Seq, at)
}

// elsewhere looks through the log once more, when something is wrong.
func (r *reading) elsewhere(is func(entry) bool) bool {
	there := errors.New("there it is")
	return r.v.lines(r.no, func(line []byte) error {
		if e, err := parseEntry(line); err == nil && is(e) {
			return there
		}
		return nil
	}) == there
}

// means heeds what an entry says of others.
func (r *reading) means(e entry) error {
	index := r.tree.size - 1
	switch {
	case e.Seam != "":
		return r.seam(e, index)
	case e.Erased != nil:
		r.head.Erased++
		r.v.erased[place{r.no, index}] = e.Seq
	case e.Kind == "erasure":
		r.erases(e)
	}
	r.v.last.seq = e.Seq
	return nil
}

func (r *reading) seam(e entry, index int64) error {
	kind, log, value, err := parseSeam(e.Seam)
	switch {
	case err != nil:
		return found(Seam, r.no, index, 0, "entry %d: %v", index, err)
	case kind == "next":
		r.seen.closing, r.v.next.origin, r.v.next.key = true, log, value
	case index != 0 || log != r.v.last.origin || value != r.v.last.checkpoint:
		return found(Seam, r.no, index, 0, "entry %d names another end of the log before, %s, than that has", index, log)
	default:
		r.seen.opening = true
	}
	return nil
}

// erases strikes off what a record says was erased. What it cannot read says
// nothing.
func (r *reading) erases(e entry) {
	var said erasure
	if json.Unmarshal([]byte(e.Detail), &said) != nil {
		return
	}
	for _, span := range said.Entries {
		if span.First < 0 {
			continue
		}
		if span.Last-span.First >= int64(len(r.v.erased)) {
			maps.DeleteFunc(r.v.erased, func(at place, _ int64) bool {
				return span.Log == at.log && span.First <= at.index && at.index <= span.Last
			})
			continue
		}
		for index := span.First; index <= span.Last; index++ {
			delete(r.v.erased, place{span.Log, index})
		}
	}
}

// meet holds the tree against the checkpoints of its size.
func (r *reading) meet() error {
	for len(r.kept) > 0 && r.kept[0].Size == r.tree.size {
		if r.kept[0].Root != r.tree.root() {
			return found(Forked, r.no, r.tree.size-1, 0, "the first %d entries are not those of the checkpoint that you kept: one of them was made anew", r.tree.size)
		}
		r.kept = r.kept[1:]
	}
	if r.tree.size == r.head.Size && r.head.Root != r.tree.root() {
		return found(Forked, r.no, r.tree.size-1, 0, "the %d entries are not those that were signed: records and their hashes were made anew", r.tree.size)
	}
	return nil
}
