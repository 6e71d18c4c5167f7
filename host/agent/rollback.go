package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A task is what one input asks for. Before its first call that may change the
// session's files, they are kept as they are; a task that goes wrong beyond
// repair gets them back.

// maxLabel bounds what of an input's id the label of a checkpoint has.
const maxLabel = 100

func taskLabel(id host.InputID) string {
	if len(id) > maxLabel {
		return "before " + host.Digest([]byte(id))
	}
	return "before " + string(id)
}

// do takes a call through the gate, with the way back for the session's files
// around it. Writes run alone, so that one at a time goes this way.
func (t *turn) do(ctx context.Context, call host.Call) host.Outcome {
	entry, unknown := t.catalog.Resolve(call.Tool)
	if unknown != nil || entry.Tool.Effect != abi.Write || t.Dispatch.Files == nil {
		return t.Dispatch.Do(ctx, t.catalog, call)
	}
	if entry.Release.Skill.Capabilities.Files == abi.AccessWrite {
		if problem := t.guardFiles(ctx, call); problem != nil {
			return host.Outcome{Call: call.ID, Tool: call.Tool, Status: host.Failed, Problem: problem}
		}
	}
	outcome := t.Dispatch.Do(ctx, t.catalog, call)
	if outcome.Problem == nil || outcome.Problem.Code.Class() != abi.ClassBroken || t.lease.isLost() != nil {
		return outcome // the files of a session that was taken over are not this turn's
	}
	problem := *outcome.Problem
	switch back, err := t.rollBack(ctx, call); {
	case !back && err != nil:
		problem.Hint = strings.TrimSpace(problem.Hint + " The session's files could not be put back; tell the user.")
	case back:
		problem.Hint = strings.TrimSpace(problem.Hint + " The session's files are again as they were before this task: whatever it had written is gone.")
	}
	outcome.Problem = &problem
	return outcome
}

// guardFiles makes the task's checkpoint, before a call that may change files.
// Without one, such a call is refused: there would be no way back.
func (t *turn) guardFiles(ctx context.Context, call host.Call) *abi.Problem {
	if t.checkpoint != "" {
		return nil
	}
	id, err := t.findCheckpoint(ctx)
	if err == nil && id == "" {
		made, failed := t.Dispatch.Files.Checkpoint(ctx, t.ref, taskLabel(t.inputID))
		id, err = made.ID, failed
	}
	if err != nil {
		problem := *host.ProblemOf(err)
		if problem.Code == abi.StoreFailure {
			problem.Code = abi.Unavailable // a verdict on this call, which the model is told; the store's own failure breaks the turn off
		}
		problem.Message = "the session's files cannot be kept as they are, so nothing may change them: " + problem.Message
		t.note(ctx, host.RecordRefusal, call, fileNote{Step: "checkpoint", Problem: &problem})
		return &problem
	}
	t.checkpoint = id
	return nil
}

// findCheckpoint gives the task's checkpoint that is still open, also one that
// another run of the turn has made.
func (t *turn) findCheckpoint(ctx context.Context) (string, error) {
	if t.checkpoint != "" {
		return t.checkpoint, nil
	}
	list, err := t.Dispatch.Files.Checkpoints(ctx, t.ref)
	if err != nil {
		return "", err
	}
	for _, c := range list {
		if c.Open && c.Label == taskLabel(t.inputID) {
			return c.ID, nil
		}
	}
	return "", nil
}

// A fileNote is the detail of a record about the session's files.
type fileNote struct {
	Step       string       `json:"step"`
	Checkpoint string       `json:"checkpoint,omitempty"`
	Problem    *abi.Problem `json:"problem,omitempty"`
}

// rollBack gives the session its files back as they were before the task, and
// tells the user. It reports whether there was anything to give back.
func (t *turn) rollBack(ctx context.Context, call host.Call) (bool, error) {
	if t.Dispatch.Files == nil {
		return false, nil
	}
	id, err := t.findCheckpoint(ctx)
	if err != nil || id == "" {
		return false, err
	}
	err = t.Dispatch.Files.Rollback(ctx, t.ref, id)
	note := fileNote{Step: "rollback", Checkpoint: id}
	if err != nil {
		note.Problem = host.ProblemOf(err)
	} else {
		t.checkpoint = ""
		t.sink.emit(host.Event{Kind: host.EventNotice, Call: call.ID, Tool: call.Tool, Text: rolledBack(t.session.Locale)})
	}
	return err == nil, errors.Join(err, t.note(ctx, host.RecordNotice, call, note))
}

// endFiles ends the task's checkpoint with the turn.
func (t *turn) endFiles(ctx context.Context, reason Reason) error {
	if reason == Circled {
		_, err := t.rollBack(ctx, host.Call{})
		return err
	}
	return t.keepFiles(ctx)
}

// keepFiles ends the task's checkpoint: the files stay as they are.
func (t *turn) keepFiles(ctx context.Context) error {
	if t.Dispatch.Files == nil || t.checkpoint == "" && t.resumed == 0 {
		return nil
	}
	id, err := t.findCheckpoint(ctx)
	if err != nil || id == "" {
		return err
	}
	t.checkpoint = ""
	return t.Dispatch.Files.Keep(ctx, t.ref, id)
}

func (t *turn) note(ctx context.Context, kind host.RecordKind, call host.Call, n fileNote) error {
	detail, err := json.Marshal(n)
	if err != nil {
		panic("BUG: a note about files does not marshal: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return t.Store.Record(ctx, host.Record{Session: t.ref, Call: call.ID, Kind: kind, Tool: call.Tool, Detail: detail})
}

// rolledBack is what the user is told.
func rolledBack(locale string) string {
	if strings.HasPrefix(strings.ToLower(locale), "zh") {
		return "任务出错，会话中的文件已恢复到任务开始前的状态。"
	}
	return "The task went wrong. The files of this session are again as they were before it."
}
