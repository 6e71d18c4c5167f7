package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/lint"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/recall"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
	"github.com/sluicehq/sluice/registry"
)

// offline is the provider that asks no model.
const offline = "offline"

// modelFlags choose the model.
type modelFlags struct {
	provider, url, name string
	key                 string // from the environment only: flags are seen by everybody
	window              int    // tokens
}

func (m *modelFlags) register(flags *pflag.FlagSet, env func(string) string) {
	provider := env("SLUICE_MODEL")
	if provider == "" {
		provider = offline
	}
	flags.StringVar(&m.provider, "model", provider, "offline, or openai for any OpenAI-compatible endpoint (SLUICE_MODEL; key in SLUICE_MODEL_KEY)")
	flags.StringVar(&m.url, "model-url", env("SLUICE_MODEL_URL"), "base URL of the endpoint, such as http://127.0.0.1:11434/v1 (SLUICE_MODEL_URL)")
	flags.IntVar(&m.window, "model-window", window.DefaultWindow, "tokens that the model takes, question and answer together; longer conversations are compacted")
	flags.StringVar(&m.name, "model-name", env("SLUICE_MODEL_NAME"), "the model at the endpoint (SLUICE_MODEL_NAME)")
	m.key = env("SLUICE_MODEL_KEY")
}

func (m *modelFlags) open() (model.Provider, error) {
	switch m.provider {
	case offline:
		return model.Offline{}, nil
	case "openai":
		return model.NewOpenAI(model.OpenAIConfig{BaseURL: m.url, Key: m.key, Model: m.name})
	}
	return nil, fmt.Errorf("%w: --model %s is not known; use offline or openai", errUsage, m.provider)
}

// A hall is everything that is open while a command works with the host. One
// function wires it; close it in the end.
type hall struct {
	home     string // the folder of what is kept on this machine
	store    *state.Store
	sandbox  *sandbox.Sandbox
	registry *registry.Registry // nil without --registry
	releases *release.Set
	dispatch *dispatch.Dispatcher
	blobs    *blob.Store
	files    *files.Store
	egress   *egress.Client
	rules    []host.Hook // the policy's modules, in its order
	alerts   []host.Hook // who is told of alerts

	remembers remembered     // what the policy says of memory
	minding   *minding       // nil until remember
	recall    *recall.Recall // likewise; nil for good without memory
}

// openHome opens the host that the command line names, for work that stays.
func (p *program) openHome(ctx context.Context) (*hall, error) {
	return p.openWith(ctx, p.home, cmp.Or(p.store, storeIn(p.home)), p.registry)
}

// open opens a host of its own over the store in the given folder. With a
// registry URL, releases are fetched from there.
func (p *program) open(ctx context.Context, folder, registryURL string) (*hall, error) {
	return p.openWith(ctx, folder, storeIn(folder), registryURL)
}

func storeIn(folder string) string { return filepath.Join(folder, "sluice.db") }

func (p *program) openWith(ctx context.Context, folder, store, registryURL string) (*hall, error) {
	h := &hall{home: folder}
	policy, err := p.readPolicy()
	if err != nil {
		return nil, err
	}
	if h.store, err = state.Open(ctx, store, state.Options{}); err != nil {
		return nil, err
	}
	engine := p.engine
	engine.CacheDir = p.compileCache()
	if h.sandbox, err = sandbox.New(engine); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	if registryURL != "" {
		if h.registry, err = registry.Open(registry.Config{URL: registryURL, CacheDir: filepath.Join(folder, "releases")}); err != nil {
			return nil, errors.Join(err, h.close(ctx))
		}
	}
	source, err := p.sourceOf(h, policy)
	if err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	h.releases = release.NewSet(h.sandbox, source)
	h.releases.Told = h.recordRelease
	if h.files, err = files.Open(filepath.Join(folder, "files")); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	if h.blobs, err = blob.Open(ctx, cmp.Or(p.blobs, filepath.Join(folder, "blobs")), blob.Options{}); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	if h.egress, err = p.egress.open(policy.Opened()); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	h.dispatch = dispatch.New(dispatch.Config{Linter: lint.New(policy.Linters(), slog.New(slog.NewTextHandler(p.stderr, nil)), filepath.Join(folder, "lint")), BatchReads: true, Config: grant.Config{
		Store: h.store, Blobs: h.blobs, Files: h.files, Egress: h.egress, Secrets: p.secret,
	}})
	if err := h.enforce(ctx, policy); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	return h, nil
}

// compileCache is where compiled modules are kept: one folder for all work, so
// that a module is compiled once on a machine.
func (p *program) compileCache() string {
	if dir := p.env("SLUICE_COMPILED"); dir != "" {
		return dir
	}
	return filepath.Join(p.home, "compiled")
}

// close closes what is open; it outlives a cancelled context, since running
// calls end by themselves.
func (h *hall) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if h.releases != nil {
		errs = append(errs, h.releases.Close(ctx))
	}
	if h.sandbox != nil {
		errs = append(errs, h.sandbox.Close(ctx))
	}
	if h.dispatch != nil {
		errs = append(errs, h.dispatch.Flush(ctx))
	}
	if h.recall != nil {
		h.recall.Close()
	}
	if h.minding != nil {
		errs = append(errs, h.minding.close())
	}
	if h.egress != nil {
		h.egress.Close()
	}
	if h.files != nil {
		errs = append(errs, h.files.Close())
	}
	if h.blobs != nil {
		errs = append(errs, h.blobs.Close())
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	return errors.Join(errs...)
}

// agent makes an agent over the hall with a model.
func (p *program) agent(h *hall, m model.Provider) *agent.Agent {
	return agent.New(agent.Config{Store: h.store, Releases: h.releases, Dispatch: h.dispatch, Model: m, Claims: p.claims, Window: p.model.window, Limits: func(host.TenantID) agent.Limits { return p.limits }})
}

// recordRelease puts on record what became of a release.
func (h *hall) recordRelease(ctx context.Context, c release.Change) error {
	detail, err := json.Marshal(c)
	if err != nil {
		return host.Fail("load", abi.NewProblem(abi.HostBug, "the record of release %s does not marshal", c.Release), err)
	}
	return h.store.Record(ctx, host.Record{
		Session: host.SessionRef{Tenant: host.HostTenant}, Kind: host.RecordRelease, Release: c.Release, Detail: detail,
	})
}

// loadAll loads the newest release of every skill of the registry. A skill
// that cannot be loaded is told and left out; none at all is an error.
func (p *program) loadAll(ctx context.Context, h *hall) error {
	if h.registry == nil {
		return fmt.Errorf("%w: no registry is given; use --registry PATH or SLUICE_REGISTRY", errUsage)
	}
	var failed map[string]error
	err := p.step("loading skills", func() (err error) {
		failed, err = h.releases.Newest(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	for _, skill := range slices.Sorted(maps.Keys(failed)) {
		fmt.Fprintf(p.stderr, "sluice: %s is left out: %v\n", skill, failed[skill])
	}
	if len(h.releases.Current()) == 0 {
		return host.Fail("load", abi.NewProblem(abi.InvalidRegistry, "the registry has no skill that can be loaded").
			WithHint("publish one: sluice registry publish DIR --to %s", p.registry), nil)
	}
	return nil
}
