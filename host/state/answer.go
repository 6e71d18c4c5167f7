package state

import (
	"context"
	"crypto/subtle"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// An ApprovalAnswer is one person's yes or no to a question.
type ApprovalAnswer struct {
	Tenant  host.TenantID
	ID      ApprovalID
	Digest  string // the question's: who answers has seen what is asked
	Approve bool
	By      host.UserID
	Words   string        // for the model, up to MaxApprovalWords
	Records []host.Record // kept if the answer changed something; what they lack they get from the question
}

// AnswerApproval keeps an answer, durably, and gives what holds now. The first
// answer decides, and the same one again changes nothing, whoever gives it. One
// that says otherwise before the call ran, whoever gives it, makes the question
// conflicted, for good: neither is done. Whether By may answer at all is the
// caller's to know. It fails with NotFound if the tenant has no such question,
// NotAllowed if the answer names another digest, and Conflict if it comes too
// late: the call was cancelled, or it was used and the answer is no.
func (s *Store) AnswerApproval(ctx context.Context, answer ApprovalAnswer) (Approval, error) {
	given := ApprovalRejected
	if answer.Approve {
		given = ApprovalApproved
	}
	change := approvalChange{tenant: answer.Tenant, id: answer.ID, digest: answer.Digest, by: answer.By, words: answer.Words, records: answer.Records}
	err := checkID("digest", answer.Digest)
	return s.changeApproval(ctx, "state.AnswerApproval", err, change, func(a *Approval, at time.Time) (bool, error) {
		switch {
		case a.Status == ApprovalOpen:
			a.Status, a.AnsweredAt, a.AnsweredBy, a.Words = given, timeOf(at.UnixMicro()), answer.By, answer.Words
		case a.Status == ApprovalCancelled, a.Status == ApprovalUsed && !answer.Approve:
			return false, a.tooLate()
		case a.Status == given, a.Status == ApprovalConflicted, a.Status == ApprovalUsed:
			return false, nil
		default:
			a.Status, a.ContraryBy = ApprovalConflicted, answer.By
		}
		return true, nil
	})
}

// CancelApproval takes a question back, durably, and gives what holds now: one
// that is open, or approved and not used, is cancelled; of one that never runs
// anyway nothing changes. It fails with NotFound if the tenant has no such
// question, and with Conflict if a call has used it.
func (s *Store) CancelApproval(ctx context.Context, tenant host.TenantID, id ApprovalID, by host.UserID, words string, records ...host.Record) (Approval, error) {
	change := approvalChange{tenant: tenant, id: id, by: by, words: words, records: records}
	return s.changeApproval(ctx, "state.CancelApproval", nil, change, func(a *Approval, _ time.Time) (bool, error) {
		switch a.Status {
		case ApprovalOpen, ApprovalApproved:
			a.Status, a.ContraryBy, a.Words = ApprovalCancelled, by, words
			return true, nil
		case ApprovalUsed:
			return false, a.tooLate()
		}
		return false, nil
	})
}

func (a Approval) tooLate() error {
	if a.Status == ApprovalUsed {
		return abi.NewProblem(abi.Conflict, "question %s was approved, and call %s has run with it", a.ID, a.UsedBy)
	}
	return abi.NewProblem(abi.Conflict, "question %s was cancelled by %s", a.ID, a.ContraryBy)
}

// An approvalChange is what a person does to a question.
type approvalChange struct {
	tenant  host.TenantID
	id      ApprovalID
	digest  string // empty where none must be named
	by      host.UserID
	words   string
	records []host.Record
}

func (c *approvalChange) check() (err error) {
	if c.records, err = checkRecords(host.SessionRef{Tenant: c.tenant}, c.records); err != nil {
		return err
	}
	if err := checkApproval(c.tenant, c.id); err != nil {
		return err
	}
	if err := checkID("id of who answers", string(c.by)); err != nil {
		return err
	}
	if len(c.words) > MaxApprovalWords || !utf8.ValidString(c.words) {
		return badValue("the words have %d bytes; at most %d of UTF-8 are stored", len(c.words), MaxApprovalWords)
	}
	return nil
}

func (s *Store) changeApproval(ctx context.Context, op string, bad error, c approvalChange, change func(a *Approval, at time.Time) (changed bool, err error)) (now Approval, err error) {
	if bad == nil {
		bad = c.check()
	}
	if bad != nil {
		return Approval{}, s.fail(ctx, op, bad)
	}
	err = s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		now, err = s.lockApproval(ctx, ex, c.tenant, c.id)
		if err != nil {
			return err
		}
		if c.digest != "" && !sameDigest(c.digest, now.Digest) {
			return abi.NewProblem(abi.NotAllowed, "the answer to question %s is about something else than what is asked", c.id).WithHint("read the question again")
		}
		changed, err := change(&now, at)
		if err != nil || !changed {
			return err
		}
		return s.putApproval(ctx, ex, now, at, c.records)
	})
	if err != nil {
		return Approval{}, err
	}
	return now, nil
}

// An ApprovalUse is a call that wants to run with an approval.
type ApprovalUse struct {
	Session host.SessionRef
	Fence   Fence // of the session's lease that the caller has; see Fence
	ID      ApprovalID
	Digest  string // of the call as it would run
	Call    host.CallID
	Records []host.Record // kept if the approval was not used before; what they lack they get from the question
}

// UseApproval gives the right to run to one call, durably and once. It reports
// whether the caller has it; the same call that asks again, after a crash, has
// it still. If not, the approval says why: its status, and who used it. It fails
// with Busy if the fence is not the session's, NotFound if the session has no
// such question, and NotAllowed if the call's digest is not the one that was
// asked about.
func (s *Store) UseApproval(ctx context.Context, use ApprovalUse) (now Approval, granted bool, err error) {
	const op = "state.UseApproval"
	if use.Records, err = checkUse(use); err != nil {
		return Approval{}, false, s.fail(ctx, op, err)
	}
	err = s.writeFor(ctx, op, use.Session, use.Fence, func(ctx context.Context, ex *executor, at time.Time) error {
		granted = false
		now, err = s.lockApproval(ctx, ex, use.Session.Tenant, use.ID)
		switch {
		case err != nil:
			return err
		case now.Session != use.Session:
			return noApproval(use.ID)
		case !sameDigest(use.Digest, now.Digest):
			return abi.NewProblem(abi.NotAllowed, "question %s was about another call than this one", use.ID).WithHint("ask about this one")
		case now.Status == ApprovalUsed:
			granted = now.UsedBy == use.Call
			return nil
		case now.Status != ApprovalApproved:
			return nil
		}
		now.Status, now.UsedBy, granted = ApprovalUsed, use.Call, true
		return s.putApproval(ctx, ex, now, at, use.Records)
	})
	if err != nil {
		return Approval{}, false, err
	}
	return now, granted, nil
}

func checkUse(use ApprovalUse) ([]host.Record, error) {
	records, err := checkRecords(use.Session, use.Records)
	if err == nil {
		err = checkRef(use.Session)
	}
	if err == nil {
		err = checkID("approval id", string(use.ID))
	}
	if err == nil {
		err = checkID("digest", use.Digest)
	}
	if err == nil {
		err = checkID("call id", string(use.Call))
	}
	return records, err
}

func sameDigest(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (s *Store) lockApproval(ctx context.Context, ex *executor, tenant host.TenantID, id ApprovalID) (Approval, error) {
	found, err := s.listApprovals(ctx, ex, s.queries.lockApproval, []any{string(tenant), string(id)})
	if err == nil && len(found) == 0 {
		err = noApproval(id)
	}
	if err != nil {
		return Approval{}, err
	}
	return found[0], nil
}

func noApproval(id ApprovalID) error {
	return abi.NewProblem(abi.NotFound, "there is no question %s", id).WithHint("list the open ones")
}

// putApproval keeps what became of a question, with the records that tell it.
func (s *Store) putApproval(ctx context.Context, ex *executor, a Approval, at time.Time, records []host.Record) error {
	answered := int64(0)
	if !a.AnsweredAt.IsZero() {
		answered = a.AnsweredAt.UnixMicro()
	}
	_, err := ex.exec(ctx, s.queries.changeApproval, string(a.Status), answered, at.UnixMicro(), string(a.AnsweredBy), string(a.ContraryBy), string(a.UsedBy), []byte(a.Words),
		string(a.Session.Tenant), string(a.ID))
	if err != nil {
		return err
	}
	records = slices.Clone(records)
	for i := range records {
		if r := &records[i]; r.Session.Session == "" {
			r.Session = a.Session
		}
		if r := &records[i]; r.Call == "" {
			r.Call = a.Call
		}
	}
	return s.keepRecords(ctx, ex, at, records)
}
