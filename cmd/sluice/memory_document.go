package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/documents"
	"github.com/sluicehq/sluice/memory/keeper"
)

// documentName gives the name that a file's document has.
func documentName(path string) string {
	if path == "" {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// A sourceState tells whether the file that a piece is from is what it was.
type sourceState string

const (
	sourceSame    sourceState = "same"
	sourceChanged sourceState = "changed"
	sourceAway    sourceState = "not readable" // from where the command runs
)

// An origin is where a memory stands in a document, and what became of that.
type origin struct {
	keeper.Place
	Source sourceState `json:"source"` // of the part that it is from
}

// A placedHit and a placedLife are as they are written with --json.
type (
	placedHit struct {
		keeper.Hit
		Place *origin `json:"place,omitempty"`
	}
	placedLife struct {
		keeper.Life
		Place *origin `json:"place,omitempty"`
	}
)

// origins gives those of an owner's memories that are pieces of documents.
func (m *rememberer) origins(ctx context.Context, k *minding, o keeper.Owner, ids ...memory.ID) (map[memory.ID]*origin, error) {
	places, err := k.Places(ctx, o, ids)
	all, states := map[memory.ID]*origin{}, map[documents.Parent]sourceState{}
	for id, p := range places {
		d, failed := k.Document(ctx, o, p.Document)
		if failed != nil || p.Part > len(d.Parts) { // forgotten or changed meanwhile
			continue
		}
		part := d.Parts[p.Part-1]
		if states[part] == "" {
			states[part] = stateOf(d.ID, part)
		}
		all[id] = &origin{Place: p, Source: states[part]}
	}
	return all, err
}

// stateOf reads a part of a file, and nothing that is no file.
func stateOf(path string, part documents.Parent) sourceState {
	path = filepath.FromSlash(path)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return sourceAway
	}
	f, err := os.Open(path)
	if err != nil {
		return sourceAway
	}
	defer f.Close()
	switch _, err := part.Read(f); {
	case err == nil:
		return sourceSame
	case host.ProblemOf(err).Code == abi.Contradicted:
		return sourceChanged
	}
	return sourceAway
}

// origin tells where a memory stands.
func (s speaker) origin(o *origin) string {
	text := s.pick("%s, part %d, piece %d of %d, bytes %d to %d", "%s，第 %d 部分，第 %d 段（共 %d 段），字节 %d 至 %d", plain(o.Document), o.Part, o.Piece, o.Pieces, o.From, o.Until)
	switch o.Source {
	case sourceSame:
		return text + s.pick("; the file is what it was", "；文件未变")
	case sourceChanged:
		return text + s.pick("; the file has changed since: import it again", "；文件已有改动，请重新导入")
	}
	return text + s.pick("; the file is not readable here", "；此处无法读取该文件")
}

// indented gives a text that people read below a line of ours.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString("  " + strings.TrimRight(plain(strings.TrimRight(line, "\r\n")), " ") + "\n")
	}
	return b.String()
}

// passages shows the text around the pieces among hits, as the agent reads it.
func (m *rememberer) passages(ctx context.Context, k *minding, o keeper.Owner, hits []keeper.Hit) error {
	ids := make([]memory.ID, len(hits))
	for i, h := range hits {
		ids[i] = h.Node.ID
	}
	all, err := k.Around(ctx, o, ids, keeper.Room{Bytes: memory.MaxPassageBytes, Pieces: keeper.MaxRecall})
	for _, p := range all {
		if m.json {
			m.print(map[string]any{"around": p})
			continue
		}
		fmt.Fprint(m.stdout, speakIn(m.locale).pick("\naround %s, in part %d of %s\n%s", "\n%s 的上下文（%[3]s 第 %[2]d 部分）\n%[4]s", p.Hits[0], p.Part, plain(p.Document), indented(p.Text)))
	}
	return err
}
