package state

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of the questions to people.
const (
	MaxOpenApprovals = 100                // of one session: nobody answers more
	MaxQuestionBytes = 256 * int(abi.KiB) // of a question's detail: arguments that a person can still read
	MaxApprovalWords = 8 * int(abi.KiB)   // of an answer's words for the model
	idRandBytes      = 6                  // of an id, beside its time: 2^48 for those of one microsecond
)

// An ApprovalID names one question. Ids of questions that were asked later are
// greater.
type ApprovalID = host.ApprovalID

// An ApprovalStatus says what became of a question.
type ApprovalStatus string

// Approval statuses. There is no time-out: a question that nobody answers stays
// open, and its call never runs.
const (
	ApprovalOpen       ApprovalStatus = "open"
	ApprovalApproved   ApprovalStatus = "approved"   // it may run once
	ApprovalRejected   ApprovalStatus = "rejected"   // it never runs
	ApprovalConflicted ApprovalStatus = "conflicted" // two answers said otherwise: it never runs
	ApprovalCancelled  ApprovalStatus = "cancelled"  // taken back before it ran: it never runs
	ApprovalUsed       ApprovalStatus = "used"       // it ran, or is at it, as call UsedBy
)

// An Approval is a question to people about one exact call, and what became of
// it. Times are by the store's clock.
type Approval struct {
	ID         ApprovalID
	Session    host.SessionRef
	Call       host.CallID // that asked first
	Digest     string      // of the tool, the release, the canonical arguments and the tier
	Status     ApprovalStatus
	Detail     json.RawMessage // what is asked
	AskedAt    time.Time
	AnsweredAt time.Time   // of the first answer; zero without one
	AnsweredBy host.UserID // who gave it
	ContraryBy host.UserID // who said otherwise, or who cancelled
	Words      string      // of the first answer or of the cancellation, for the model
	UsedBy     host.CallID // the only call that may run with it
}

// A Question is asked by a session's turn.
type Question struct {
	Session host.SessionRef
	Fence   Fence // of the session's lease that the caller has; see Fence
	Call    host.CallID
	Digest  string          // of the tool, the release, the canonical arguments and the tier
	Detail  json.RawMessage // what people are shown; up to MaxQuestionBytes
	Records []host.Record   // kept if the question is new; without a session they get the question's
}

// AskApproval keeps a question, durably, and reports whether it is new: while
// one about the same digest is open in the session, that is given again. It fails with
// Busy if the fence is not the session's, and with QuotaReached while the session has
// MaxOpenApprovals open ones.
func (s *Store) AskApproval(ctx context.Context, q Question) (asked Approval, first bool, err error) {
	const op = "state.AskApproval"
	if q.Records, err = checkQuestion(q); err != nil {
		return Approval{}, false, s.fail(ctx, op, err)
	}
	err = s.writeFor(ctx, op, q.Session, q.Fence, func(ctx context.Context, ex *executor, at time.Time) error {
		open, err := s.listApprovals(ctx, ex, s.queries.openApproval, append(sessionArgs(q.Session), q.Digest, string(ApprovalOpen)))
		if first = len(open) == 0; err != nil || !first {
			if err == nil {
				asked = open[0]
			}
			return err
		}
		asked, err = s.makeApproval(ctx, ex, q, at)
		return err
	})
	if err != nil {
		return Approval{}, false, err
	}
	return asked, first, nil
}

func checkQuestion(q Question) ([]host.Record, error) {
	records, err := checkRecords(q.Session, q.Records)
	if err == nil {
		err = checkRef(q.Session)
	}
	if err == nil {
		err = checkID("call id", string(q.Call))
	}
	if err == nil {
		err = checkID("digest", q.Digest)
	}
	if err == nil && len(q.Detail) > MaxQuestionBytes {
		err = badValue("a question of %d bytes; at most %d are stored", len(q.Detail), MaxQuestionBytes)
	}
	if err == nil {
		err = checkDocument("question", q.Detail)
	}
	return records, err
}

func (s *Store) makeApproval(ctx context.Context, ex *executor, q Question, at time.Time) (Approval, error) {
	var open []string
	args := append(sessionArgs(q.Session), string(ApprovalOpen), MaxOpenApprovals)
	if err := ex.each(ctx, s.queries.openApprovals, args, scanText(&open)); err != nil {
		return Approval{}, err
	}
	if len(open) >= MaxOpenApprovals {
		return Approval{}, abi.NewProblem(abi.QuotaReached, "session %s has %d questions that nobody has answered", q.Session, len(open)).
			WithHint("answer or cancel some first")
	}
	a := Approval{ID: ApprovalID("ask_" + timeOrdered(at)), Session: q.Session, Call: q.Call, Digest: q.Digest, Status: ApprovalOpen, Detail: q.Detail, AskedAt: timeOf(at.UnixMicro())}
	_, err := ex.exec(ctx, s.queries.makeApproval, string(q.Session.Tenant), string(a.ID), string(q.Session.User), string(q.Session.Session), string(q.Call), q.Digest,
		string(a.Status), at.UnixMicro(), 0, 0, "", "", "", []byte(q.Detail), []byte{})
	if err != nil {
		return Approval{}, err
	}
	return a, s.keepRecords(ctx, ex, at, q.Records)
}

// timeOrdered makes the rest of an id that sorts by a time.
func timeOrdered(at time.Time) string {
	var random [idRandBytes]byte
	rand.Read(random[:]) // never fails
	return fmt.Sprintf("%014x%x", at.UnixMicro(), random)
}

// Approval gives one question of a tenant and whether there is one.
func (s *Store) Approval(ctx context.Context, tenant host.TenantID, id ApprovalID) (Approval, bool, error) {
	err := checkApproval(tenant, id)
	return s.oneApproval(ctx, "state.Approval", err, s.queries.approval, string(tenant), string(id))
}

// FindApproval gives the newest question about a digest in a session, whatever
// became of it, and whether there is one.
func (s *Store) FindApproval(ctx context.Context, session host.SessionRef, digest string) (Approval, bool, error) {
	err := checkRef(session)
	if err == nil {
		err = checkID("digest", digest)
	}
	return s.oneApproval(ctx, "state.FindApproval", err, s.queries.approvalOf, append(sessionArgs(session), digest)...)
}

func (s *Store) oneApproval(ctx context.Context, op string, bad error, query string, args ...any) (Approval, bool, error) {
	if bad != nil {
		return Approval{}, false, s.fail(ctx, op, bad)
	}
	found, err := s.listApprovals(ctx, s.reader, query, args)
	if err != nil {
		return Approval{}, false, s.fail(ctx, op, err)
	}
	if len(found) == 0 {
		return Approval{}, false, nil
	}
	return found[0], true, nil
}

func checkApproval(tenant host.TenantID, id ApprovalID) error {
	if err := checkID("tenant id", string(tenant)); err != nil {
		return err
	}
	return checkID("approval id", string(id))
}

// An ApprovalFilter says which questions of a tenant are wanted. Empty fields
// want all.
type ApprovalFilter struct {
	Session host.SessionRef // all three ids, or none
	Status  ApprovalStatus
	After   ApprovalID
	Limit   int // 0 means MaxPage, the most
}

// Approvals gives questions in the order in which they were asked, from the
// first one after After. A list may end early because of its size: only an empty
// one is the end.
func (s *Store) Approvals(ctx context.Context, tenant host.TenantID, f ApprovalFilter) ([]Approval, error) {
	const op = "state.Approvals"
	where, args, err := f.where(tenant)
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	list, err := s.listApprovals(ctx, s.reader, fmt.Sprintf(s.queries.approvals, where), append(args, pageLimit(f.Limit)))
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return list, nil
}

func (f ApprovalFilter) where(tenant host.TenantID) (where string, args []any, err error) {
	args = []any{string(tenant), string(f.After)}
	if err := checkID("tenant id", string(tenant)); err != nil {
		return "", nil, err
	}
	if err := checkText("approval id", string(f.After), host.MaxIDBytes); err != nil {
		return "", nil, err
	}
	if f.Session != (host.SessionRef{}) {
		if f.Session.Tenant != tenant {
			return "", nil, badValue("approvals of tenant %q with a session of tenant %q", tenant, f.Session.Tenant)
		}
		where, args = " AND user_id = ? AND session_id = ?", append(args, string(f.Session.User), string(f.Session.Session))
		err = checkRef(f.Session)
	}
	if f.Status != "" {
		where, args = where+" AND status = ?", append(args, string(f.Status))
	}
	return where, args, err
}

// listApprovals gives what a query finds, up to a page's size.
func (s *Store) listApprovals(ctx context.Context, ex *executor, query string, args []any) (list []Approval, err error) {
	size := 0
	err = ex.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		a, err := scanApproval(rows)
		list = append(list, a)
		size += len(a.Detail)
		return size < maxPageBytes, err
	})
	return list, err
}

func scanApproval(rows *sql.Rows) (a Approval, err error) {
	var asked, answered int64
	err = rows.Scan((*string)(&a.Session.Tenant), (*string)(&a.ID), (*string)(&a.Session.User), (*string)(&a.Session.Session), (*string)(&a.Call), &a.Digest,
		(*string)(&a.Status), &asked, &answered, (*string)(&a.AnsweredBy), (*string)(&a.ContraryBy), (*string)(&a.UsedBy), (*[]byte)(&a.Detail), &a.Words)
	a.AskedAt, a.AnsweredAt = timeOf(asked), timeOrNone(answered)
	return a, err
}
