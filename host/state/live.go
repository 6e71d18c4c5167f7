package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Live is a business occasion as the store knows it.
type Live struct {
	ID        host.LiveID
	StartedAt time.Time       // by the store's clock
	EndedAt   time.Time       // likewise; zero while it is on
	Detail    json.RawMessage // what the business said at its start; up to MaxDocumentBytes
}

// StartLive begins a live, and keeps the records of its start with it. It
// reports whether this call was the one that did: a start that is delivered
// again changes nothing. A live that has ended is Conflict.
func (s *Store) StartLive(ctx context.Context, tenant host.TenantID, live host.LiveID, detail json.RawMessage, records ...host.Record) (first bool, err error) {
	const op = "state.StartLive"
	if records, err = checkLive(tenant, live, records); err == nil {
		err = checkDocument("live's detail", detail)
	}
	if err != nil {
		return false, s.fail(ctx, op, err)
	}
	err = s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		row, found, err := s.findLive(ctx, ex, tenant, live)
		first = !found
		switch {
		case err != nil:
			return err
		case found && !row.EndedAt.IsZero():
			return abi.NewProblem(abi.Conflict, "live %s has ended", live).WithHint("give the new one an id of its own")
		case found:
			return nil
		}
		if _, err := ex.exec(ctx, s.queries.makeLive, at.UnixMicro(), 0, []byte(detail), string(tenant), string(live)); err != nil {
			return err
		}
		return s.keepRecords(ctx, ex, at, records)
	})
	return first && err == nil, err
}

// EndLive ends a live, and keeps with it the records of its end, and that the end is
// owed, which the caller has a grace to tell of, before others do. It reports
// whether this call was the one that did: an end that is delivered again
// changes nothing. A live that never began is NotFound.
func (s *Store) EndLive(ctx context.Context, tenant host.TenantID, live host.LiveID, grace time.Duration, records ...host.Record) (owed Owed, first bool, err error) {
	const op = "state.EndLive"
	if records, err = checkLive(tenant, live, records); err == nil {
		err = checkSpan("grace", grace, MaxJobPause)
	}
	if err != nil {
		return Owed{}, false, s.fail(ctx, op, err)
	}
	owed = newOwed(host.SessionRef{Tenant: tenant}, live)
	err = s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		ended, err := ex.exec(ctx, s.queries.endLive, at.UnixMicro(), string(tenant), string(live))
		if err != nil {
			return err
		}
		if first = ended == 1; first {
			if err := s.owe(ctx, ex, &owed, at, grace); err != nil {
				return err
			}
			return s.keepRecords(ctx, ex, at, records)
		}
		_, found, err := s.findLive(ctx, ex, tenant, live)
		if err == nil && !found {
			err = abi.NewProblem(abi.NotFound, "there is no live %s", live).WithHint("start it first")
		}
		return err
	})
	if err != nil || !first {
		return Owed{}, false, err
	}
	return owed, true, nil
}

func checkLive(tenant host.TenantID, live host.LiveID, records []host.Record) ([]host.Record, error) {
	if err := checkID("live id", string(live)); err != nil {
		return nil, err
	}
	if err := checkID("tenant id", string(tenant)); err != nil {
		return nil, err
	}
	return checkRecords(host.SessionRef{Tenant: tenant}, records)
}

// Live gives one live and whether it ever began.
func (s *Store) Live(ctx context.Context, tenant host.TenantID, live host.LiveID) (Live, bool, error) {
	const op = "state.Live"
	if _, err := checkLive(tenant, live, nil); err != nil {
		return Live{}, false, s.fail(ctx, op, err)
	}
	row, found, err := s.findLive(ctx, s.reader, tenant, live)
	if err != nil {
		return Live{}, false, s.fail(ctx, op, err)
	}
	return row, found, nil
}

// Lives gives the lives of a tenant in the order of their ids, from the first
// one greater than after. A limit of 0 means MaxPage, the most. A list may end
// early because of its size: only an empty one is the end.
func (s *Store) Lives(ctx context.Context, tenant host.TenantID, after host.LiveID, limit int) ([]Live, error) {
	const op = "state.Lives"
	err := checkID("tenant id", string(tenant))
	if err == nil {
		err = checkText("live id", string(after), host.MaxIDBytes)
	}
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	var lives []Live
	size := 0
	err = s.reader.each(ctx, s.queries.lives, []any{string(tenant), string(after), pageLimit(limit)}, func(rows *sql.Rows) (bool, error) {
		live, err := scanLive(rows.Scan)
		lives = append(lives, live)
		size += len(live.Detail)
		return size < maxPageBytes, err
	})
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return lives, nil
}

func (s *Store) findLive(ctx context.Context, ex *executor, tenant host.TenantID, live host.LiveID) (row Live, found bool, err error) {
	err = ex.each(ctx, s.queries.live, []any{string(tenant), string(live)}, func(rows *sql.Rows) (bool, error) {
		found = true
		row, err = scanLive(rows.Scan)
		return false, err
	})
	return row, found, err
}

func scanLive(scan func(dest ...any) error) (live Live, err error) {
	var started, ended int64
	err = scan((*string)(&live.ID), &started, &ended, (*[]byte)(&live.Detail))
	live.StartedAt = timeOf(started)
	if ended != 0 {
		live.EndedAt = timeOf(ended)
	}
	return live, err
}
