package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// What lies in the work folder. As long as the plan is there, the change has to
// be taken back; once it is applied, it stays.
const (
	planFile    = workFolder + "/plan"
	appliedFile = workFolder + "/applied"
)

// maxPlanBytes is far above what one call's changes take: abi.CallWrites paths.
const maxPlanBytes = 4 * int64(abi.MiB)

// A step is one path that a change writes or removes. How far it has come can
// be seen on disk: the new file is staged or in place, the old one set aside
// or not.
type step struct {
	Name    string `json:"name"`
	Removed bool   `json:"removed,omitempty"`
}

// place gives the step's path in the session's folder.
func (s step) place() string { return path.Join(treeFolder, s.Name) }

func staged(i int) string { return fmt.Sprintf("%s/new-%d", workFolder, i) }
func aside(i int) string  { return fmt.Sprintf("%s/old-%d", workFolder, i) }

// inOrder puts what is written before what is removed, so that a document that
// moves is there at any moment. Only where a file is to become a folder, or a
// folder a file, the one has to go before the other comes.
func inOrder(changes map[string]change) []step {
	ranks := map[string]int{}
	var steps []step
	for name, c := range changes {
		steps = append(steps, step{Name: name, Removed: c.removed})
		ranks[name] = 1
		if c.removed {
			ranks[name] = 2
		}
	}
	for name, c := range changes {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if above, changed := changes[folder]; changed && above.removed != c.removed {
				removed := name
				if above.removed {
					removed = folder
				}
				ranks[removed] = 0
			}
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		if ranks[a.Name] != ranks[b.Name] {
			return ranks[a.Name] - ranks[b.Name]
		}
		return strings.Compare(a.Name, b.Name)
	})
	return steps
}

// writePlan puts down the steps, and with them the names of what is staged,
// down to the disk.
func (c *Change) writePlan(steps []step) error {
	data, err := json.Marshal(steps)
	if err != nil {
		panic("BUG: a plan does not encode: " + err.Error())
	}
	if err := writeWhole(c.session, planFile+".new", planFile, data); err != nil {
		return err
	}
	return errors.Join(syncFolder(c.session, workFolder), syncFolder(c.session, "."))
}

// renamePlan says durably whether the change is to be taken back.
func (c *Change) renamePlan(from, to string) error {
	if err := c.session.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(c.session, workFolder)
}

// readPlan gives the steps of a change that was neither applied to its end nor
// taken back; none where there is no such change.
func readPlan(session *os.Root) (steps []step, err error) {
	f, err := session.Open(planFile)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPlanBytes))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &steps); err != nil {
		return nil, fmt.Errorf("the plan of a change: %w", err)
	}
	for _, s := range steps {
		if problem := abi.CheckPath(s.Name); problem != nil {
			return nil, fmt.Errorf("the plan of a change: %w", problem)
		}
	}
	return steps, nil
}

// recoverChange takes back the change of a process that died while it applied it, or
// one that could not be taken back before. The caller holds the session's
// changes.
func recoverChange(session *os.Root) error {
	steps, err := readPlan(session)
	if err != nil || len(steps) == 0 {
		return err
	}
	c := Change{session: session, steps: steps, touched: map[string]bool{}}
	return c.takeBack()
}

// Undo takes a change back. An error says that some of it is still there: what
// it had set aside is kept, and the next use of the session tries again.
func (c *Change) Undo() error {
	if c.mu == nil {
		return nil
	}
	defer c.end()
	if len(c.steps) == 0 {
		return nil // nothing was moved
	}
	err := c.renamePlan(appliedFile, planFile)
	if err == nil || missing(err) { // it was not applied to its end
		err = c.takeBack()
	}
	if err != nil {
		return failure("files.Undo", "a change of the session's files could not be taken back", err)
	}
	return nil
}

// takeBack does the steps the other way around, however far they have come. It
// may be repeated.
func (c *Change) takeBack() error {
	var errs []error
	for i := range slices.Backward(c.steps) {
		errs = append(errs, c.putBack(i))
	}
	if err := errors.Join(append(errs, c.sync())...); err != nil {
		return err
	}
	// Without its plan, the rest is of no meaning any more.
	if err := c.session.Remove(planFile); err != nil {
		return err
	}
	if err := syncFolder(c.session, workFolder); err != nil {
		return err
	}
	_ = c.session.RemoveAll(workFolder) // else the next change does it
	return nil
}

// putBack undoes one step: the new file is staged again, and the old one in
// its place.
func (c *Change) putBack(i int) error {
	s, at := c.steps[i], c.steps[i].place()
	old, err := exists(c.session, aside(i))
	if err != nil {
		return err
	}
	isStaged, err := exists(c.session, staged(i))
	if err != nil {
		return err
	}
	if !s.Removed && !isStaged {
		if err := c.stageAgain(i, old); err != nil {
			return err
		}
	}
	if !old {
		if !s.Removed {
			c.prune(path.Dir(at))
		}
		return nil
	}
	if err := c.noLinks(path.Dir(at)); err != nil {
		return err
	}
	if err := c.makeFolder(path.Dir(at)); err != nil {
		return err
	}
	c.touched[path.Dir(at)] = true
	return c.session.Rename(aside(i), at)
}

// stageAgain takes a new file out of its place. Where an old one comes back
// there, it leaves it until then, if the file system has links.
func (c *Change) stageAgain(i int, old bool) error {
	at := c.steps[i].place()
	if err := c.noLinks(path.Dir(at)); err != nil {
		return err
	}
	if old && c.session.Link(at, staged(i)) == nil {
		return nil
	}
	c.touched[path.Dir(at)] = true
	if err := c.session.Rename(at, staged(i)); !missing(err) {
		return err
	}
	return nil // somebody has removed it
}
