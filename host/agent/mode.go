package agent

import (
	"context"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// ValidMode refuses a word that is no mode, with BadValue. The empty one is
// host.ModeAuto.
func ValidMode(mode host.Mode) *abi.Problem {
	switch mode {
	case "", host.ModeAuto, host.ModeSuggest, host.ModeNever:
		return nil
	}
	return abi.NewProblem(abi.BadValue, "%.40q is no mode of a session", mode).WithField("mode").
		WithCandidates(string(host.ModeAuto), string(host.ModeSuggest), string(host.ModeNever))
}

// SetMode says how much the session's user lets the assistant do by itself from
// the next turn on, more or less than before. A session in which nothing was
// said yet is made with what s says of it. While a turn of the session runs,
// SetMode is Busy.
func (a *Agent) SetMode(ctx context.Context, s Session, mode host.Mode) error {
	if problem := ValidMode(mode); problem != nil {
		return host.Fail("agent.SetMode", problem, nil)
	}
	values, err := a.Store.LoadState(ctx, s.Ref, keySession)
	if err != nil {
		return err
	}
	meta, version, err := read(sessionForm(), values, keySession)
	if err != nil {
		return err
	}
	if version == 0 {
		meta = a.newSession(s)
	}
	meta.Mode = mode
	return a.Store.SaveState(ctx, s.Ref, state.Change{Key: keySession, Version: version, Data: sessionForm().encode(meta)})
}

func (a *Agent) newSession(s Session) sessionValue {
	return sessionValue{Created: a.Now().UTC(), Live: s.Live, Locale: s.Locale, Mode: s.Mode, Pins: release.Pins{}}
}
