package precheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

// trialNow is where the clock stands in trials: the same as in tests of the SDK,
// so that an example that speaks of dates holds in both.
var trialNow = time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC)

// A trial is a host of its own, on an empty store, in which the skill's tools
// run as they would in any: through the gate, in the sandbox. It has no way to
// other hosts. A person says yes to everything, and the breaker only reports:
// what is tried is the skill.
type trial struct {
	folder   string
	store    *state.Store
	blobs    *blob.Store
	files    *files.Store
	releases *release.Set
	dispatch *dispatch.Dispatcher
	catalog  *release.Catalog
	rooms    int // sessions so far
}

// openTrial opens the trial of a subject that passed the rules before.
func openTrial(ctx context.Context, x *examination) (*trial, error) {
	return openTrialOf(ctx, x, x.skill, x.Module)
}

func openTrialOf(ctx context.Context, x *examination, skill *manifest.Skill, module []byte) (t *trial, err error) {
	t = &trial{}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close(ctx))
		}
	}()
	if t.folder, err = os.MkdirTemp("", "precheck-"); err != nil {
		return t, err
	}
	if t.store, err = state.Open(ctx, filepath.Join(t.folder, "trial.db"), state.Options{}); err != nil {
		return t, err
	}
	if t.blobs, err = blob.Open(ctx, filepath.Join(t.folder, "blobs"), blob.Options{}); err != nil {
		return t, err
	}
	if t.files, err = files.Open(filepath.Join(t.folder, "files")); err != nil {
		return t, err
	}
	t.releases = release.NewSet(x.Sandbox, nil)
	if _, err = t.releases.Load(ctx, &registry.Release{Skill: skill, Module: module, SHA256: host.Digest(module)}); err != nil {
		return t, err
	}
	t.catalog, _ = t.releases.Catalog(ctx, release.Pins{})
	t.dispatch = dispatch.New(dispatch.Config{
		Config:   grant.Config{Store: t.store, Blobs: t.blobs, Files: t.files},
		Approver: func(context.Context, dispatch.Question) bool { return true },
		Breaker:  dispatch.BreakerReports,
		Now:      func() time.Time { return trialNow },
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	return t, nil
}

func (t *trial) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if t.releases != nil {
		errs = append(errs, t.releases.Close(ctx))
	}
	if t.files != nil {
		errs = append(errs, t.files.Close())
	}
	if t.blobs != nil {
		errs = append(errs, t.blobs.Close())
	}
	if t.store != nil {
		errs = append(errs, t.store.Close())
	}
	if t.folder != "" {
		errs = append(errs, os.RemoveAll(t.folder))
	}
	return errors.Join(errs...)
}

// call runs a tool in a session of its own, which begins with what an example
// says. The call's id is the same in every session: what a skill draws from it
// is, too.
func (t *trial) call(ctx context.Context, skill *manifest.Skill, tool string, args json.RawMessage, e abi.Example) (host.Outcome, error) {
	ref, err := t.session(ctx, skill, e)
	if err != nil {
		return host.Outcome{}, err
	}
	return t.dispatch.Do(ctx, t.catalog, host.Call{ID: "call_trial", Session: ref, Locale: "zh-CN", Tool: tool, Args: string(args), Input: 1, Round: 1}), nil
}

// session makes a new one, of a tenant of its own, with what an example begins with.
func (t *trial) session(ctx context.Context, skill *manifest.Skill, e abi.Example) (host.SessionRef, error) {
	t.rooms++
	ref := host.SessionRef{Tenant: host.TenantID(fmt.Sprintf("trial%d", t.rooms)), User: "trial", Session: "trial"}
	if len(e.KV) > 0 && skill.Capabilities.KV != nil {
		err := t.store.Import(ctx, ref.Tenant, skill.Capabilities.KV.Namespace, func(yield func(string, []byte) bool) {
			for key, value := range e.KV {
				if !yield(key, value) {
					return
				}
			}
		})
		if err != nil {
			return ref, err
		}
	}
	var changes []state.Change
	for key, value := range e.State {
		changes = append(changes, state.Change{Key: key, Data: value})
	}
	if len(changes) > 0 {
		return ref, t.store.SaveState(ctx, ref, changes...)
	}
	return ref, nil
}
