package files

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of the checkpoints of one session. When one is exceeded, the oldest go,
// those of tasks at their end first, and never the newest.
const (
	// MaxCheckpoints is what a person still looks through, and some days of tasks.
	MaxCheckpoints = 32
	// MaxCheckpointBytes is what the objects of all of them take on disk: four
	// of the largest trees that have nothing in common.
	MaxCheckpointBytes = 4 * abi.SessionFileBytes
	// MaxLabelRunes is what is kept of a label: one line of a list.
	MaxLabelRunes = 200
)

// A Checkpoint is the whole tree of a session's files at one moment.
type Checkpoint struct {
	ID      string    `json:"id"`
	Label   string    `json:"label"`
	Time    time.Time `json:"time"`
	Files   int       `json:"files"`
	Folders int       `json:"folders"`
	Links   int       `json:"links"`
	Bytes   int64     `json:"bytes"`             // of the files' contents
	Open    bool      `json:"open"`              // neither kept nor rolled back to
	Damaged bool      `json:"damaged,omitempty"` // what it is cannot be read any more; forget it
}

// Checkpoint takes the whole tree of the session's files: every file whatever
// its name, exact modes, links as links, empty folders. Owners, times and
// extended attributes are not kept, and a file with two names becomes two.
// Make one before a task; then call Keep when the task has succeeded or Rollback
// when it cannot. Checkpoints may nest.
//
// It waits for a change that is applied and not yet settled. Of the label, one
// line of MaxLabelRunes is kept. It is durable when it is returned; where it
// fails, nothing of it is left: NotAllowed names what is neither file, folder
// nor link, QuotaReached a bound of the tree that is exceeded, StoreConflict a
// file that somebody changed meanwhile, StoreFailure means the disk.
func (s *Store) Checkpoint(ctx context.Context, ref host.SessionRef, label string) (made Checkpoint, err error) {
	err = s.checkpoints(ref, s.makeSession, func(k *keeper) (err error) {
		if err := k.makeRepository(); err != nil {
			return err
		}
		made, err = k.take(ctx, label)
		return err
	})
	return made, outcome(ctx, "files.Checkpoint", "the checkpoint cannot be made", err)
}

// Checkpoints lists the checkpoints of a session, the newest first, up to
// MaxCheckpoints.
func (s *Store) Checkpoints(ctx context.Context, ref host.SessionRef) ([]Checkpoint, error) {
	all := []Checkpoint{}
	err := s.checkpoints(ref, s.findSession, func(k *keeper) (err error) {
		if k.repo != nil {
			all, err = k.repo.list(ctx)
		}
		return err
	})
	return all, outcome(ctx, "files.Checkpoints", "the checkpoints cannot be listed", err)
}

// Rollback makes the session's files exactly what they were at a checkpoint:
// what was changed is as it was, what was removed is back, what was added is
// gone. It ends this checkpoint and those made after it, as Keep does; all of
// them stay in the list.
//
// It happens whole or not at all: a process that dies in the middle leaves the
// old tree or the new one, or one that the next use of the session puts in
// place. It needs room for a second tree. A view from before fails with
// StoreConflict. NotFound gives the ids that there are; Broken means that the
// checkpoint is damaged, and nothing was changed. It may be repeated.
func (s *Store) Rollback(ctx context.Context, ref host.SessionRef, id string) error {
	err := s.checkpoints(ref, s.findSession, func(k *keeper) error {
		refs, at, err := k.find(id)
		if err != nil {
			return err
		}
		commit, err := k.repo.commitOf(refs[at])
		if err == nil {
			err = k.repo.restore(ctx, k.session, commit)
		}
		if err != nil {
			k.repo.mend(err)
			return err
		}
		if err := s.swap(ref, k.session); err != nil {
			return err
		}
		_ = discard(k.session, replacedFolder) // else the next use does it
		return k.repo.keep(opened(refs[at:]))
	})
	return outcome(ctx, "files.Rollback", "the session's files cannot be rolled back", err)
}

// Keep says that the task of a checkpoint has succeeded: the files stay as they
// are, and this checkpoint and those made after it may go when there is no more
// room. Until then they can be rolled back to. It may be repeated. NotFound
// gives the ids that there are.
func (s *Store) Keep(ctx context.Context, ref host.SessionRef, id string) error {
	err := s.checkpoints(ref, s.findSession, func(k *keeper) error {
		refs, at, err := k.find(id)
		if err != nil {
			return err
		}
		return k.repo.keep(opened(refs[at:]))
	})
	return outcome(ctx, "files.Keep", "the checkpoint cannot be kept", err)
}

// Forget removes a checkpoint, and of its objects those that no other reaches.
// NotFound gives the ids that there are.
func (s *Store) Forget(ctx context.Context, ref host.SessionRef, id string) error {
	err := s.checkpoints(ref, s.findSession, func(k *keeper) error {
		refs, at, err := k.find(id)
		if err != nil {
			return err
		}
		if err := k.repo.remove(refs[at]); err != nil {
			return err
		}
		_, err = k.repo.sweep(ctx)
		return err
	})
	return outcome(ctx, "files.Forget", "the checkpoint cannot be removed", err)
}

// outcome makes the error that leaves the package.
func outcome(ctx context.Context, op, message string, err error) error {
	var problem *abi.Problem
	var harmed *damage
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problem):
		return refuse(op, problem)
	case ctx.Err() != nil:
		return host.Fail(op, host.ProblemOf(ctx.Err()), err)
	case errors.As(err, &harmed):
		return host.Fail(op, abi.NewProblem(abi.Broken, "%s: it is damaged, and nothing was changed", message).
			WithHint("choose another checkpoint"), err)
	}
	return failure(op, message, err)
}

// A keeper works on the checkpoints of one session, whose lock it holds.
type keeper struct {
	session *os.Root
	repo    *repository // nil where there is none, which is always so without a session
}

// checkpoints opens a session in the given way, for one use of its checkpoints.
func (s *Store) checkpoints(ref host.SessionRef, open func(host.SessionRef) (*os.Root, error), do func(k *keeper) error) error {
	if err := ref.Valid(); err != nil {
		return abi.NewProblem(abi.BadValue, "%v", err)
	}
	l := s.lock(ref)
	l.changes.Lock()
	defer l.changes.Unlock()
	session, err := open(ref)
	if missing(err) {
		return do(&keeper{})
	}
	if err != nil {
		return err
	}
	defer session.Close()
	k := &keeper{session: session}
	if k.repo, err = openRepository(session); err != nil && !missing(err) {
		return err
	}
	defer func() {
		if k.repo != nil {
			_ = k.repo.close() // nothing is written through it
		}
	}()
	return do(k)
}

func (k *keeper) makeRepository() (err error) {
	if k.repo == nil {
		k.repo, err = makeRepository(k.session)
		return err
	}
	return k.repo.initialise()
}

// find gives all checkpoints and where the one with an id is among them.
func (k *keeper) find(id string) (refs []reference, at int, err error) {
	if k.repo != nil {
		if refs, err = k.repo.references(); err != nil {
			return nil, 0, err
		}
	}
	if at = slices.IndexFunc(refs, func(r reference) bool { return r.id == id }); at >= 0 {
		return refs, at, nil
	}
	problem := abi.NewProblem(abi.NotFound, "the session has no checkpoint %.40q", id).WithField("id")
	if len(refs) == 0 {
		return nil, 0, problem.WithHint("it has none yet")
	}
	var newest []string
	for _, ref := range slices.Backward(refs) {
		newest = append(newest, ref.id)
	}
	return nil, 0, problem.WithHint("the candidates are the newest").WithCandidates(newest[:min(len(newest), candidates)]...)
}

func opened(refs []reference) (open []reference) {
	for _, ref := range refs {
		if ref.open {
			open = append(open, ref)
		}
	}
	return open
}

// take makes a checkpoint.
func (k *keeper) take(ctx context.Context, label string) (Checkpoint, error) {
	if err := k.repo.tidy(ctx); err != nil {
		return Checkpoint{}, err
	}
	refs, err := k.repo.references()
	if err != nil {
		return Checkpoint{}, err
	}
	tree, err := openTree(k.session)
	if err != nil {
		return Checkpoint{}, err
	}
	defer tree.Close()
	list, err := scan(ctx, tree)
	if err != nil {
		return Checkpoint{}, err
	}
	n := noteOf(list, label)
	n.Number = 1
	if len(refs) > 0 {
		n.Number = refs[len(refs)-1].number + 1
	}
	ref, wrote, err := k.repo.save(ctx, tree, list, n)
	if err != nil {
		return Checkpoint{}, err
	}
	// The checkpoint is made, whatever becomes of the old ones: the next
	// tries again to remove them.
	_ = k.repo.prune(ctx, MaxCheckpoints, int64(MaxCheckpointBytes), wrote)
	return n.checkpoint(ref), nil
}

// save records a tree and makes a checkpoint of it. It reports whether there
// are objects that were not there before.
func (r *repository) save(ctx context.Context, tree *os.Root, list listing, n note) (ref reference, wrote bool, err error) {
	w, err := r.record(ctx, tree)
	if err != nil {
		return reference{}, false, err
	}
	commit, err := w.write(list, n)
	if err == nil {
		ref = newReference(n.Number, commit)
		err = r.setReference(ref, commit)
	}
	if err != nil {
		w.abandon(ref)
		return reference{}, false, err
	}
	w.done()
	return ref, len(w.made) > 0, nil
}

func noteOf(list listing, label string) note {
	n := note{Label: oneLine(label), Time: time.Now().UTC(), Folders: -1} // the tree's own is none in it
	for _, e := range list {
		switch {
		case e.mode.IsDir():
			n.Folders++
		case e.mode.IsRegular():
			n.Files++
			n.Bytes += e.size
		default:
			n.Links++
		}
	}
	return n
}

func (n note) checkpoint(ref reference) Checkpoint {
	return Checkpoint{
		ID: ref.id, Label: n.Label, Time: n.Time, Files: n.Files, Folders: n.Folders, Links: n.Links, Bytes: n.Bytes, Open: ref.open,
	}
}

// oneLine makes any text one that stands in a list.
func oneLine(label string) string {
	runes := []rune(strings.Join(strings.FieldsFunc(label, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " "))
	return string(runes[:min(len(runes), MaxLabelRunes)])
}

// list reads what all checkpoints say of themselves.
func (r *repository) list(ctx context.Context) ([]Checkpoint, error) {
	refs, err := r.references()
	if err != nil {
		return nil, err
	}
	all := []Checkpoint{}
	for _, ref := range slices.Backward(refs) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(all) == MaxCheckpoints {
			break
		}
		c, err := r.describe(ref)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (r *repository) describe(ref reference) (Checkpoint, error) {
	var harmed *damage
	commit, err := r.commitOf(ref)
	if err == nil {
		var n note
		if n, err = r.note(commit); err == nil {
			return n.checkpoint(ref), nil
		}
	}
	if errors.As(err, &harmed) {
		return Checkpoint{ID: ref.id, Open: ref.open, Damaged: true}, nil
	}
	return Checkpoint{}, err
}
