package state

import (
	"context"
	"database/sql"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of the standing grants.
const (
	MaxStandingGrants = 100                  // of one user: each is looked at before every call that is gated
	MaxGrantCondition = 4 * int(abi.KiB)     // of a condition's text
	MaxGrantTime      = 366 * 24 * time.Hour // a person's word is asked for again after a year
)

// A StandingGrant is a permission that a person gave ahead: this tool, while
// this condition holds, in this session. The store only keeps it; what it covers
// is the gate's to say.
type StandingGrant struct {
	ID        string // greater than those of earlier grants
	Tenant    host.TenantID
	User      host.UserID
	Session   host.SessionID // empty: all of the user's
	Tool      string
	Condition string   // CEL; empty: no condition
	MaxTier   abi.Tier // it covers no call of a higher one
	GrantedBy host.UserID
	GrantedAt time.Time // by the store's clock
	Until     time.Time // likewise; zero: until it is revoked
}

// AddStandingGrant keeps a grant, durably, and gives it back with its id and
// times; those that it comes with do not count. It lasts for so long by the
// store's clock, up to MaxGrantTime; 0 means until it is revoked, which only a
// grant for one session may. It fails with QuotaReached while the user has
// MaxStandingGrants that have not run out.
//
// The records of the grant, made of it as it is kept, are kept with it. Their
// functions must do nothing else, and may be called again.
func (s *Store) AddStandingGrant(ctx context.Context, g StandingGrant, lasts time.Duration, records ...func(kept StandingGrant) host.Record) (StandingGrant, error) {
	const op = "state.AddStandingGrant"
	if err := g.check(lasts); err != nil {
		return StandingGrant{}, s.fail(ctx, op, err)
	}
	err := s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		at, err := s.roomForGrant(ctx, ex, g.Tenant, g.User)
		if err != nil {
			return err
		}
		g.ID, g.GrantedAt, g.Until = "grant_"+timeOrdered(at), timeOf(at.UnixMicro()), time.Time{}
		until := int64(0)
		if lasts > 0 {
			g.Until = timeOf(at.Add(lasts).UnixMicro())
			until = g.Until.UnixMicro()
		}
		if _, err := ex.exec(ctx, s.queries.makeGrant, string(g.Tenant), string(g.User), g.ID, string(g.Session), g.Tool, string(g.MaxTier),
			at.UnixMicro(), until, string(g.GrantedBy), []byte(g.Condition)); err != nil {
			return err
		}
		return s.addGrantRecords(ctx, ex, at, g, records)
	})
	if err != nil {
		return StandingGrant{}, err
	}
	return g, nil
}

// roomForGrant takes the slot of a user's grants, so that nobody adds one between
// the count and the commit, and gives the time from which the next one counts.
func (s *Store) roomForGrant(ctx context.Context, ex *executor, tenant host.TenantID, user host.UserID) (at time.Time, err error) {
	if err := s.lockSlots(ctx, ex, tenant, slotOf("standing grants", string(user))); err != nil {
		return at, err
	}
	if at, err = s.now(ctx, ex); err != nil {
		return at, err
	}
	var kept []string
	err = ex.each(ctx, s.queries.countGrants, []any{string(tenant), string(user), at.UnixMicro(), MaxStandingGrants}, scanText(&kept))
	if err == nil && len(kept) >= MaxStandingGrants {
		err = abi.NewProblem(abi.QuotaReached, "user %s has %d standing grants", user, len(kept)).WithHint("revoke some first")
	}
	return at, err
}

// addGrantRecords needs the slot of the user's grants, which is one of the
// tenant's.
func (s *Store) addGrantRecords(ctx context.Context, ex *executor, at time.Time, g StandingGrant, of []func(kept StandingGrant) host.Record) error {
	var records []host.Record
	for _, record := range of {
		records = append(records, record(g))
	}
	records, err := checkRecords(host.SessionRef{Tenant: g.Tenant, User: g.User, Session: g.Session}, records)
	if err != nil {
		return err
	}
	return s.addRecords(ctx, ex, at, records)
}

func (g StandingGrant) check(lasts time.Duration) error {
	if err := checkUser(g.Tenant, g.User); err != nil {
		return err
	}
	if err := checkText("session id", string(g.Session), host.MaxIDBytes); err != nil {
		return err
	}
	if err := checkID("id of who grants", string(g.GrantedBy)); err != nil {
		return err
	}
	switch {
	case g.Tool == "":
		return badValue("a standing grant without a tool")
	case g.MaxTier != abi.Auto && g.MaxTier != abi.SoftGate && g.MaxTier != abi.HardGate:
		return badValue("a standing grant up to tier %q; give %s, %s or %s", g.MaxTier, abi.Auto, abi.SoftGate, abi.HardGate)
	case len(g.Condition) > MaxGrantCondition || !utf8.ValidString(g.Condition):
		return badValue("a condition of %d bytes; at most %d of UTF-8 are stored", len(g.Condition), MaxGrantCondition)
	case lasts == 0 && g.Session == "":
		return badValue("a standing grant for all sessions without an end; say how long it lasts")
	case lasts < 0 || lasts > MaxGrantTime:
		return badValue("a standing grant for %s; give at most %s", lasts, MaxGrantTime)
	}
	return checkText("tool", g.Tool, abi.KeyBytes)
}

// checkUser checks the ids of a user without a session.
func checkUser(tenant host.TenantID, user host.UserID) error {
	return checkRef(host.SessionRef{Tenant: tenant, User: user, Session: "any"})
}

// StandingGrants gives the grants that hold in a session now, by the store's
// clock, in the order in which they were given: the session's own, and those for
// all of its user's. There are at most MaxStandingGrants.
func (s *Store) StandingGrants(ctx context.Context, session host.SessionRef) ([]StandingGrant, error) {
	const op = "state.StandingGrants"
	if err := checkRef(session); err != nil {
		return nil, s.fail(ctx, op, err)
	}
	at, err := s.now(ctx, s.reader)
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	args := []any{string(session.Tenant), string(session.User), string(session.Session), at.UnixMicro(), MaxPage}
	return s.grants(ctx, op, s.queries.grantsIn, args)
}

// StandingGrantsOf gives all grants of a user that are kept, also those that
// have run out, in the order in which they were given, from the first one whose
// id is greater than after. A limit of 0 means MaxPage, the most.
func (s *Store) StandingGrantsOf(ctx context.Context, tenant host.TenantID, user host.UserID, after string, limit int) ([]StandingGrant, error) {
	const op = "state.StandingGrantsOf"
	err := checkUser(tenant, user)
	if err == nil {
		err = checkText("grant id", after, host.MaxIDBytes)
	}
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return s.grants(ctx, op, s.queries.grantsOf, []any{string(tenant), string(user), after, pageLimit(limit)})
}

func (s *Store) grants(ctx context.Context, op, query string, args []any) (list []StandingGrant, err error) {
	err = s.reader.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		g, err := scanGrant(rows)
		list = append(list, g)
		return true, err
	})
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return list, nil
}

func scanGrant(rows *sql.Rows) (g StandingGrant, err error) {
	var granted, until int64
	err = rows.Scan((*string)(&g.Tenant), (*string)(&g.User), &g.ID, (*string)(&g.Session), &g.Tool, (*string)(&g.MaxTier),
		&granted, &until, (*string)(&g.GrantedBy), &g.Condition)
	g.GrantedAt, g.Until = timeOf(granted), timeOrNone(until)
	return g, err
}

// RevokeStandingGrant removes a grant, durably, and keeps the records of that
// with it. It reports whether there was one: revoking again changes nothing.
func (s *Store) RevokeStandingGrant(ctx context.Context, tenant host.TenantID, user host.UserID, id string, records ...host.Record) (revoked bool, err error) {
	const op = "state.RevokeStandingGrant"
	if records, err = checkRecords(host.SessionRef{Tenant: tenant, User: user}, records); err == nil {
		err = checkUser(tenant, user)
	}
	if err == nil {
		err = checkID("grant id", id)
	}
	if err != nil {
		return false, s.fail(ctx, op, err)
	}
	err = s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		removed, err := ex.exec(ctx, s.queries.removeGrant, string(tenant), string(user), id)
		if revoked = removed > 0; err != nil || !revoked {
			return err
		}
		return s.keepRecords(ctx, ex, at, records)
	})
	return revoked && err == nil, err
}
