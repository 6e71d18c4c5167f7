package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A published entry is one line of entries.jsonl, and the entry of a proof. What
// it has depends on what it is: a record as it was sealed, an erased one, a seam
// between logs, or a finding of who wrote it: a sealed record that is gone, or
// one that is there and was never sealed.
type published struct {
	Index int64      `json:"index"`
	Leaf  *tlog.Hash `json:"leaf,omitempty"` // what the tree has
	Seam  string     `json:"seam,omitempty"`

	Seq        int64  `json:"seq,omitempty"`
	Time       int64  `json:"time,omitempty"` // microseconds since 1970
	Kind       string `json:"kind,omitempty"`
	Release    string `json:"release,omitempty"`
	Salt       []byte `json:"salt,omitempty"`
	User       string `json:"user,omitempty"`
	Session    string `json:"session,omitempty"`
	Call       string `json:"call,omitempty"`
	Tool       string `json:"tool,omitempty"`
	Key        string `json:"key,omitempty"`
	Detail     string `json:"detail,omitempty"`
	DetailData []byte `json:"detail_base64,omitempty"` // in its place where it is not UTF-8
	Erased     []byte `json:"erased,omitempty"`        // the digest that is left

	Missing bool `json:"missing,omitempty"`
	Foreign bool `json:"unsealed,omitempty"`
}

func publishedOf(r host.Record, leaf state.AuditLeaf, hash tlog.Hash) published {
	p := published{Index: leaf.Index, Leaf: &hash, Seq: r.Seq, Time: r.Time.UnixMicro(), Kind: string(r.Kind), Release: r.Release}
	if leaf.Erased {
		p.Erased = leaf.Secret
		return p
	}
	p.Salt, p.User, p.Session, p.Call = leaf.Secret, string(r.Session.User), string(r.Session.Session), string(r.Call)
	p.Tool, p.Key = r.Tool, string(r.Key)
	if utf8.Valid(r.Detail) {
		p.Detail = string(r.Detail)
	} else {
		p.DetailData = r.Detail
	}
	return p
}

// Publish writes what a verifier reads into a folder that is not there yet or
// is empty: for each log of the tenant a folder "1", "2" and so on, with the files
// "checkpoint", "key" and "entries.jsonl". It has what was sealed when it began,
// and the payload of all that is not erased. It gives the number of entries.
func (q *Sequencer) Publish(ctx context.Context, tenant host.TenantID, dir string) (entries int64, err error) {
	logs, err := q.allLogs(ctx, tenant)
	if err != nil {
		return 0, err
	}
	if len(logs) == 0 {
		return 0, host.Fail("audit.Publish", abi.NewProblem(abi.BadValue, "tenant %s has no audit log yet", tenant).WithHint("there is one after its first call"), nil)
	}
	if err := emptyFolder(dir); err != nil {
		return 0, host.Fail("audit.Publish", abi.NewProblem(abi.BadValue, "%s cannot be written to", dir).WithHint("give a folder that is not there yet"), err)
	}
	p := &publisher{q: q, ctx: ctx, tenant: tenant, dir: dir, logs: logs}
	err = p.run()
	if err = errors.Join(err, p.close()); err != nil {
		for _, log := range logs { // half of it would be taken for a log that was cut
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, fmt.Sprint(log.No))))
		}
		return 0, host.Fail("audit.Publish", host.ProblemOf(err), err)
	}
	return p.entries, nil
}

func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	names, err := os.ReadDir(dir)
	if err == nil && len(names) > 0 {
		return errors.New("it is not empty")
	}
	return err
}

// maxLogs bounds the logs of a tenant: each is a rotation that somebody asked for.
const maxLogs = 10_000

func (q *Sequencer) allLogs(ctx context.Context, tenant host.TenantID) (logs []state.AuditLog, err error) {
	for after := int64(0); len(logs) < maxLogs; {
		page, err := q.Store.AuditLogs(ctx, tenant, after, 0)
		if err != nil || len(page) == 0 {
			return logs, err
		}
		logs, after = append(logs, page...), page[len(page)-1].No
	}
	return nil, fmt.Errorf("there are more than %d logs", maxLogs)
}

// A publisher goes once through a tenant's records and leaves.
type publisher struct {
	q       *Sequencer
	ctx     context.Context
	tenant  host.TenantID
	dir     string
	logs    []state.AuditLog
	at      int // the log that is being written
	entries int64

	file   *os.File // nil before the first
	out    *bufio.Writer
	tile   []byte // hashes of the tile that was read last
	tileOf [2]int64
	leaves []state.AuditLeaf // that were read and not yet written
	after  int64             // the seq of the last leaf that was read
	done   int64             // the seq of the last leaf that was written
}

func (p *publisher) run() error {
	if err := p.open(); err != nil {
		return err
	}
	upTo := p.logs[len(p.logs)-1].LastSeq
	for after := int64(0); after < upTo; {
		last, err := p.page(after, upTo)
		if err != nil {
			return err
		}
		if last == 0 {
			break
		}
		after = last
	}
	if err := p.missingBefore(upTo + 1); err != nil {
		return err
	}
	return p.openUpTo(p.logs[len(p.logs)-1].No, true)
}

// page writes some records after a seq, and gives that of the last; 0 without any.
// They are read before their leaves, and no leaf that was read before them counts:
// what is erased in between is published as erased.
func (p *publisher) page(after, upTo int64) (last int64, err error) {
	records, err := p.q.Store.Records(p.ctx, p.tenant, state.RecordFilter{AfterSeq: after, UpToSeq: upTo, Limit: p.q.testOnlyPage})
	if err != nil {
		return 0, err
	}
	p.leaves, p.after = nil, p.done
	for _, r := range records {
		if err := p.record(r); err != nil {
			return 0, err
		}
		last = r.Seq
	}
	return last, nil
}

// record writes a record and, before it, sealed ones that are not there.
func (p *publisher) record(r host.Record) error {
	if err := p.missingBefore(r.Seq); err != nil {
		return err
	}
	if len(p.leaves) == 0 || p.leaves[0].Seq != r.Seq {
		stray := publishedOf(r, state.AuditLeaf{Index: -1}, tlog.Hash{})
		stray.Leaf, stray.Foreign = nil, true
		return p.write(stray)
	}
	leaf := p.take()
	if err := p.openUpTo(leaf.Log, false); err != nil {
		return err
	}
	hash, err := p.hash(leaf)
	if err != nil {
		return err
	}
	return p.write(publishedOf(r, leaf, hash))
}

// missingBefore writes the leaves before a seq, which have no record.
func (p *publisher) missingBefore(seq int64) error {
	for {
		if len(p.leaves) == 0 {
			leaves, err := p.q.Store.AuditLeaves(p.ctx, p.tenant, p.after, 0)
			if err != nil || len(leaves) == 0 {
				return err
			}
			p.leaves, p.after = leaves, leaves[len(leaves)-1].Seq
		}
		if p.leaves[0].Seq >= seq {
			return nil
		}
		leaf := p.take()
		if err := p.openUpTo(leaf.Log, false); err != nil {
			return err
		}
		if err := p.write(published{Index: leaf.Index, Seq: leaf.Seq, Missing: true}); err != nil {
			return err
		}
	}
}

// take gives the next leaf, which is written then.
func (p *publisher) take() state.AuditLeaf {
	leaf := p.leaves[0]
	p.leaves, p.done = p.leaves[1:], leaf.Seq
	return leaf
}

// openUpTo goes on to a log. The closing entry of each is written when it is
// left, and of the last one at the end.
func (p *publisher) openUpTo(no int64, end bool) error {
	for p.logs[p.at].No < no && p.at+1 < len(p.logs) {
		if err := errors.Join(p.closing(), p.close()); err != nil {
			return err
		}
		p.at++
		if err := p.open(); err != nil {
			return err
		}
	}
	if end {
		return p.closing()
	}
	return nil
}

// open begins the folder of the log that is on.
func (p *publisher) open() (err error) {
	log := p.logs[p.at]
	dir := filepath.Join(p.dir, fmt.Sprint(log.No))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"checkpoint": log.Checkpoint, "key": []byte(log.Key + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	if p.file, err = os.OpenFile(filepath.Join(dir, "entries.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	p.out = bufio.NewWriterSize(p.file, 1<<16)
	if len(log.Opening) > 0 {
		return p.seam(0, log.Opening)
	}
	return nil
}

func (p *publisher) closing() error {
	if log := p.logs[p.at]; len(log.Closing) > 0 {
		return p.seam(log.Size-1, log.Closing)
	}
	return nil
}

func (p *publisher) seam(index int64, text []byte) error {
	hash, err := p.hash(state.AuditLeaf{Log: p.logs[p.at].No, Index: index})
	if err != nil {
		return err
	}
	return p.write(published{Index: index, Leaf: &hash, Seam: string(text)})
}

func (p *publisher) close() error {
	if p.file == nil {
		return nil
	}
	err := errors.Join(p.out.Flush(), p.file.Close())
	p.file = nil
	return err
}

func (p *publisher) write(entry published) error {
	p.entries++
	return writeLine(p.out, entry)
}

// hash gives what the tree has for a leaf; zero if it has nothing.
func (p *publisher) hash(leaf state.AuditLeaf) (hash tlog.Hash, err error) {
	if of := [2]int64{leaf.Log, leaf.Index / tileWidth}; p.tile == nil || of != p.tileOf {
		if p.tile, err = p.q.Store.AuditTile(p.ctx, p.tenant, leaf.Log, 0, leaf.Index/tileWidth); err != nil {
			return hash, err
		}
		p.tileOf = of
	}
	if at := int(leaf.Index%tileWidth) * tlog.HashSize; at >= 0 && len(p.tile) >= at+tlog.HashSize {
		copy(hash[:], p.tile[at:])
	}
	return hash, nil
}

func writeLine(out io.Writer, v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := out.Write(line.Bytes())
	return err
}
