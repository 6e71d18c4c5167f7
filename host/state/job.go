package state

import (
	"context"
	"database/sql"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// MaxJobPause bounds how long a job may rest between two runs.
const MaxJobPause = 366 * 24 * time.Hour

// A Job is one piece of periodic work as the store knows it. Times are by the
// store's clock, and zero where there is none.
type Job struct {
	Name      string    `json:"name"`
	StartedAt time.Time `json:"started_at,omitzero"` // of its last run, or of the one that is on
	EndedAt   time.Time `json:"ended_at,omitzero"`   // of its last run
	NextAt    time.Time `json:"next_at,omitzero"`    // when it is due
	Failure   string    `json:"failure,omitempty"`   // what its last run said when it failed, up to abi.KeyBytes; empty if it ran well
	Holder    string    `json:"holder,omitempty"`    // who is at it; empty if nobody is
	Until     time.Time `json:"until,omitzero"`      // of the holder: from then on others may take the job over
}

// A JobRequest asks for the next run of a job.
type JobRequest struct {
	Name   string
	Holder string        // an id of the caller's own
	Every  time.Duration // the longest from start to start: what was stored before counts less; up to MaxJobPause
	Lease  time.Duration // until the holder must renew, up to MaxLeaseTime
}

// A JobTurn is the answer to a JobRequest.
type JobTurn struct {
	Fence Fence         // of this run; 0 if it is not the caller's turn
	In    time.Duration // if not: when to ask again
}

// A JobEnd is what a run leaves.
type JobEnd struct {
	Failure string        // empty if it ran well; what does not fit is cut
	Next    time.Duration // from the run's start to the next one, 0 to MaxJobPause; never in the past
}

// TakeJob gives a run of a job to one caller only, if by the store's clock the
// job is due and nobody is at it, or its holder's time ran out before it had
// finished. A job that nobody knows yet is due. What a run is given for is not
// given again: the fences of a job grow.
func (s *Store) TakeJob(ctx context.Context, req JobRequest) (JobTurn, error) {
	const op = "state.TakeJob"
	if err := checkJob(req); err != nil {
		return JobTurn{}, s.fail(ctx, op, err)
	}
	var turn JobTurn
	err := s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		row, found, at, err := s.jobRow(ctx, ex, req.Name)
		if err != nil {
			return err
		}
		if wait := row.wait(req.Every, at); found && wait > 0 {
			turn = JobTurn{In: wait}
			return nil
		}
		row.fence, row.holder = row.fence+1, req.Holder
		row.started, row.until = at.UnixMicro(), at.Add(req.Lease).UnixMicro()
		turn = JobTurn{Fence: row.fence}
		return s.putJob(ctx, ex, req.Name, row, found)
	})
	if err != nil {
		return JobTurn{}, err
	}
	return turn, nil
}

// RenewJob makes a run's lease last for so long from now on, by the store's
// clock. It fails with Busy and ErrLeaseLost if the run was finished or taken
// over: then it must stop.
func (s *Store) RenewJob(ctx context.Context, name string, fence Fence, lease time.Duration) error {
	return s.changeJob(ctx, "state.RenewJob", name, fence, checkSpan("lease", lease, MaxLeaseTime), func(row *jobRow, at time.Time) {
		row.until = at.Add(lease).UnixMicro()
	})
}

// FinishJob ends a run and says when the next one is due. It fails as RenewJob
// does, and then keeps nothing.
func (s *Store) FinishJob(ctx context.Context, name string, fence Fence, end JobEnd) error {
	var bad error
	if end.Next < 0 || end.Next > MaxJobPause {
		bad = badValue("the next run %s after this one; at most %s", end.Next, MaxJobPause)
	}
	return s.changeJob(ctx, "state.FinishJob", name, fence, bad, func(row *jobRow, at time.Time) {
		row.holder, row.until, row.failure = "", 0, fit(end.Failure)
		row.ended = at.UnixMicro()
		row.next = max(row.started+end.Next.Microseconds(), row.ended)
	})
}

func (s *Store) changeJob(ctx context.Context, op, name string, fence Fence, bad error, change func(row *jobRow, at time.Time)) error {
	if bad == nil {
		bad = checkID("job's name", name)
	}
	if bad != nil {
		return s.fail(ctx, op, bad)
	}
	return s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		row, _, at, err := s.jobRow(ctx, ex, name)
		if err != nil {
			return err
		}
		if row.holder == "" || row.fence != fence {
			return host.Fail("", abi.NewProblem(abi.Busy, "run %d of job %s is over", fence, name).WithHint("stop it"), ErrLeaseLost)
		}
		change(&row, at)
		return s.putJob(ctx, ex, name, row, true)
	})
}

// Jobs gives the jobs in the order of their names, from the first one greater
// than after. A limit of 0 means MaxPage, the most.
func (s *Store) Jobs(ctx context.Context, after string, limit int) ([]Job, error) {
	const op = "state.Jobs"
	if err := checkText("job's name", after, host.MaxIDBytes); err != nil {
		return nil, s.fail(ctx, op, err)
	}
	var jobs []Job
	err := s.reader.each(ctx, s.queries.jobs, []any{after, pageLimit(limit)}, func(rows *sql.Rows) (bool, error) {
		var name string
		var row jobRow
		err := rows.Scan(&name, (*int64)(&row.fence), &row.holder, &row.until, &row.started, &row.ended, &row.next, &row.failure)
		jobs = append(jobs, row.job(name))
		return true, err
	})
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return jobs, nil
}

func checkJob(req JobRequest) error {
	if err := checkID("job's name", req.Name); err != nil {
		return err
	}
	if err := checkID("holder id", req.Holder); err != nil {
		return err
	}
	if err := checkSpan("pause", req.Every, MaxJobPause); err != nil {
		return err
	}
	return checkSpan("lease", req.Lease, MaxLeaseTime)
}

// A jobRow is a job as it is stored; zero where there is none.
type jobRow struct {
	fence                Fence
	holder               string // empty if nobody is at it
	until                int64
	started, ended, next int64
	failure              string
}

// wait gives how long nobody can take the job. One whose last run began in the
// future is due: the store's clock was put back, which must not stop the work. So
// is one whose holder's time ends farther away than it can.
func (r jobRow) wait(every time.Duration, at time.Time) time.Duration {
	now, until := at.UnixMicro(), r.until
	if r.holder == "" {
		until = min(r.next, r.started+every.Microseconds())
		if r.started > now {
			return 0
		}
	} else if until > at.Add(farthestEnd).UnixMicro() {
		return 0
	}
	return time.Duration(until-now) * time.Microsecond
}

func (r jobRow) job(name string) Job {
	return Job{Name: name, StartedAt: timeOrNone(r.started), EndedAt: timeOrNone(r.ended), NextAt: timeOrNone(r.next),
		Failure: r.failure, Holder: r.holder, Until: timeOrNone(r.until)}
}

// jobRow gives the time with it, by the store's clock.
func (s *Store) jobRow(ctx context.Context, ex *executor, name string) (row jobRow, found bool, at time.Time, err error) {
	var micros int64
	found, err = ex.row(ctx, s.queries.job, []any{name}, (*int64)(&row.fence), &row.holder, &row.until,
		&row.started, &row.ended, &row.next, &row.failure, &micros)
	if err != nil {
		return row, found, at, err
	}
	at, err = s.timeOfRow(ctx, ex, found, micros)
	return row, found, at, err
}

func (s *Store) putJob(ctx context.Context, ex *executor, name string, row jobRow, found bool) error {
	query := s.queries.changeJob
	if !found {
		query = s.queries.makeJob // fails where another transaction was first, and is run again
	}
	_, err := ex.exec(ctx, query, int64(row.fence), row.holder, row.until, row.started, row.ended, row.next, row.failure, name)
	return err
}
