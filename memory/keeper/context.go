package keeper

import (
	"context"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/memory"
)

// A preface is what stands before a declaration's own words in its index text.
type preface struct {
	id    memory.ID
	words string // as phrase gives them
}

// phrase gives the words of a text so that one text has another one's in it, whatever
// signs and spaces are between them.
func phrase(text string) string {
	return "\x00" + strings.Join(sequenceOf(text), "\x00") + "\x00"
}

// prefaces are those of all of an owner's declarations, for one forgetting: they are read
// once, when it first asks, and those that were cleared are taken out.
type prefaces struct {
	all  []preface
	read bool
}

// clearPrefaces takes what stands before the words of declarations out of what is
// searched, wherever it has the words of memories that are to be forgotten: those
// declarations were made in the same breath, and stay. They are found by their own words
// from then on.
func (k *Keeper) clearPrefaces(ctx context.Context, o Owner, gone []memory.ID, before *prefaces) (err error) {
	if !before.read {
		if before.all, err = k.prefaces(ctx, o); err != nil {
			return err
		}
		before.read = true
	}
	var carrying []memory.ID
	for some := range slices.Chunk(gone, longList) {
		if len(before.all) == 0 {
			break
		}
		all, err := findAll(ctx, k.db.Reads, o, some)
		if err != nil {
			return err
		}
		for _, s := range all {
			words := phrase(s.Text)
			before.all = slices.DeleteFunc(before.all, func(p preface) bool {
				carries := strings.Contains(p.words, words)
				if carries {
					carrying = append(carrying, p.id)
				}
				return carries
			})
		}
	}
	for some := range slices.Chunk(carrying, forgetBatch) {
		if err := k.change(ctx, func(ctx context.Context, t *tx) error { return t.clearPrefaces(ctx, o, some) }); err != nil {
			return err
		}
	}
	return nil
}

// prefaces reads those of all of an owner's declarations. A declaration that came of a
// document has headings there, and is another matter.
func (k *Keeper) prefaces(ctx context.Context, o Owner) (all []preface, err error) {
	p := Page{Layers: []memory.Layer{memory.Declared}, Limit: MaxPage}
	for more := true; more; {
		page, err := k.List(ctx, o, p)
		if err != nil {
			return nil, err
		}
		for _, n := range page {
			p.After = n.ID
			if before, ok := strings.CutSuffix(n.IndexText, n.Text); ok && before != "" && n.Source.Document == "" {
				all = append(all, preface{n.ID, phrase(before)})
			}
		}
		more = len(page) == MaxPage
	}
	return all, nil
}

func (t *tx) clearPrefaces(ctx context.Context, o Owner, ids []memory.ID) error {
	for _, id := range ids {
		if _, err := exec(ctx, t.on, changeIndexWords, append([]any{[]byte{}}, memoryArgs(o, id)...)...); err != nil {
			return err
		}
		if err := t.reworded(ctx, o, id); err != nil {
			return err
		}
	}
	_, err := exec(ctx, t.on, setScrubTo, t.next())
	return err
}
