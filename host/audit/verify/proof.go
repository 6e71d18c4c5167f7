package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// MaxProofBytes bounds a proof.
const MaxProofBytes = maxLineBytes

// A ProofReport is what a proof shows.
type ProofReport struct {
	Log     Checkpoint  `json:"log"`
	Key     string      `json:"key"`
	Trusted bool        `json:"trusted"`
	Records []int64     `json:"records,omitempty"` // seqs of those that are in the log
	Earlier *Checkpoint `json:"earlier,omitempty"` // that the log is a continuation of
}

type proof struct {
	Key         string            `json:"key"`
	Checkpoint  string            `json:"checkpoint"`
	Records     []json.RawMessage `json:"records"`
	Earlier     string            `json:"earlier"`
	Consistency []tlog.Hash       `json:"consistency"`
}

// A provenRecord is one entry with its way to the root.
type provenRecord struct {
	Entry json.RawMessage `json:"entry"`
	Path  []tlog.Hash     `json:"path"`
}

// Proof verifies a proof by itself. Keys are those that the caller trusts;
// without any, the proof's own counts, which shows only that it is whole. What is
// wrong is the error.
func Proof(data []byte, keys []string) (ProofReport, error) {
	var p proof
	if err := unmarshalExactly(data, &p); err != nil {
		return ProofReport{}, fmt.Errorf("the proof cannot be read: %w", err)
	}
	trusted := slices.ContainsFunc(keys, func(k string) bool { return strings.TrimSpace(k) == p.Key })
	if len(keys) > 0 && !trusted {
		return ProofReport{}, fmt.Errorf("the proof is signed with %s, which you do not trust", p.Key)
	}
	c, err := ParseCheckpoint([]byte(p.Checkpoint), p.Key)
	if err != nil {
		return ProofReport{}, fmt.Errorf("the checkpoint is not signed with %s: %w", p.Key, err)
	}
	report := ProofReport{Log: c, Key: p.Key, Trusted: trusted}
	if err := p.records(&report); err != nil {
		return ProofReport{}, err
	}
	return report, p.consistent(&report)
}

func (p *proof) records(report *ProofReport) error {
	if len(p.Records) == 0 && p.Earlier == "" {
		return errors.New("the proof is about nothing")
	}
	tenant, _, err := report.Log.parts()
	if err != nil {
		return err
	}
	for _, data := range p.Records {
		var r provenRecord
		if err := unmarshalExactly(data, &r); err != nil {
			return fmt.Errorf("a record of the proof cannot be read: %w", err)
		}
		e, err := parseRecord(r.Entry)
		if err != nil {
			return fmt.Errorf("a record of the proof cannot be read: %w", err)
		}
		if err := tlog.CheckRecord(r.Path, report.Log.Size, report.Log.Root, e.Index, e.hash(tenant)); err != nil {
			return fmt.Errorf("record %d is not entry %d of %s: %w", e.Seq, e.Index, report.Log.Origin, err)
		}
		report.Records = append(report.Records, e.Seq)
	}
	return nil
}

// parseRecord reads an entry that is a sealed record, and nothing else that a line
// of a log may be: a proof is of records alone.
func parseRecord(text []byte) (entry, error) {
	e, err := parseEntry(text)
	switch {
	case err != nil:
		return entry{}, err
	case e.Missing || e.Unsealed:
		return entry{}, errors.New("it was never sealed, or is gone")
	case e.Seam != "":
		return entry{}, errors.New("it is a seam between logs, and no record")
	}
	return e, nil
}

func (p *proof) consistent(report *ProofReport) error {
	if p.Earlier == "" {
		return nil
	}
	earlier, err := ParseCheckpoint([]byte(p.Earlier), p.Key)
	if err != nil {
		return fmt.Errorf("the earlier checkpoint is not signed with %s: %w", p.Key, err)
	}
	if earlier.Origin != report.Log.Origin {
		return fmt.Errorf("the earlier checkpoint is that of %s, and not of %s", earlier.Origin, report.Log.Origin)
	}
	if err := tlog.CheckTree(p.Consistency, report.Log.Size, report.Log.Root, earlier.Size, earlier.Root); err != nil {
		return fmt.Errorf("%s with %d entries is not a continuation of what it was with %d: %w", report.Log.Origin, report.Log.Size, earlier.Size, err)
	}
	report.Earlier = &earlier
	return nil
}
