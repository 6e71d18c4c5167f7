package files

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// prune removes the oldest checkpoints until the others are within the bounds.
// Bytes are counted only where there may be more than before.
func (r *repository) prune(ctx context.Context, number int, bytes int64, grown bool) error {
	refs, err := r.references()
	if err != nil {
		return err
	}
	order := pruneOrder(refs)
	over := max(0, len(refs)-number)
	var size int64
	if over == 0 && grown {
		if size, err = r.usage(); err != nil {
			return err
		}
	}
	for over > 0 || size > bytes && len(order) > 0 {
		n := max(over, 1)
		if err := r.remove(order[:n]...); err != nil {
			return err
		}
		order, over = order[n:], 0
		if size, err = r.sweep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pruneOrder gives what may go, the first first: those of tasks that are at
// their end, then the others; the newest stays.
func pruneOrder(refs []reference) []reference {
	if len(refs) == 0 {
		return nil
	}
	order := slices.Clone(refs[:len(refs)-1])
	slices.SortStableFunc(order, func(a, b reference) int {
		switch {
		case a.open == b.open:
			return 0
		case b.open:
			return -1
		}
		return 1
	})
	return order
}

// remove removes checkpoints. A sweep must follow; where there is none, the
// next checkpoint begins with one.
func (r *repository) remove(refs ...reference) error {
	if err := writeWhole(r.root, unfinishedFile+".new", unfinishedFile, nil); err != nil {
		return err
	}
	for _, ref := range refs {
		if err := r.root.Remove(ref.path()); err != nil {
			return err
		}
	}
	return errors.Join(syncFolder(r.root, openRefs), syncFolder(r.root, keptRefs))
}

// tidy sweeps where somebody died before his objects were reached, or removed.
func (r *repository) tidy(ctx context.Context) error {
	if unfinished, err := exists(r.root, unfinishedFile); !unfinished || err != nil {
		return err
	}
	_, err := r.sweep(ctx)
	return err
}

// sweep removes every object that no checkpoint reaches and gives the bytes of
// the others.
func (r *repository) sweep(ctx context.Context) (left int64, err error) {
	refs, err := r.references()
	if err != nil {
		return 0, err
	}
	m := marker{ctx: ctx, repo: r, reached: map[hash]bool{}}
	for _, ref := range refs {
		if err := m.checkpoint(ref); err != nil {
			return 0, err
		}
	}
	err = r.visitObjects(func(object hash, size int64) error {
		if m.reached[object] {
			left += size
			return nil
		}
		return r.drop(object)
	})
	if err != nil {
		return 0, err
	}
	if err := r.root.RemoveAll(incomingFolder); err != nil {
		return 0, err
	}
	if err := r.root.Remove(unfinishedFile); err != nil && !missing(err) {
		return 0, err
	}
	return left, nil
}

// drop removes an object, and its folder where it was the last in it.
func (r *repository) drop(object hash) error {
	name := objectPath(object)
	if err := r.root.Remove(name); err != nil && !missing(err) {
		return err
	}
	_ = r.root.Remove(path.Dir(name)) // fails where there are others
	return nil
}

// A marker finds all objects that checkpoints reach. A damaged one reaches
// nothing; it is removed, so that it is written again when it is needed.
type marker struct {
	ctx     context.Context
	repo    *repository
	reached map[hash]bool
}

func (m *marker) checkpoint(ref reference) error {
	commit, err := m.repo.commitOf(ref)
	if err != nil {
		return m.unlessDamaged(err)
	}
	m.reached[commit] = true
	c, err := m.repo.commit(commit)
	if err != nil {
		return m.unlessDamaged(err)
	}
	return m.folder(c.TreeHash, 0)
}

func (m *marker) unlessDamaged(err error) error {
	var harmed *damage
	if errors.As(err, &harmed) {
		m.repo.mend(err)
		return nil
	}
	return err
}

func (m *marker) folder(of hash, depth int) error {
	if m.reached[of] || depth > maxDepth+1 { // none that is made lies deeper: the top, and the tree below it
		return nil
	}
	if err := m.ctx.Err(); err != nil {
		return err
	}
	m.reached[of] = true
	entries, err := m.repo.folder(of)
	if err != nil {
		return m.unlessDamaged(err)
	}
	for _, e := range entries {
		if e.Mode != filemode.Dir {
			m.reached[e.Hash] = true
			continue
		}
		if err := m.folder(e.Hash, depth+1); err != nil {
			return err
		}
	}
	return nil
}
