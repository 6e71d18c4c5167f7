package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/jobs"
	"github.com/sluicehq/sluice/host/recall"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
	"github.com/sluicehq/sluice/memory/qdrant"
)

// embedded is the index of the process itself.
const embedded = "embedded"

// memoryFlags choose whether anything is remembered, and how it is found.
type memoryFlags struct {
	mode     string // on or off
	index    string // embedded, or the URL of a Qdrant server
	embedder string // as embed.Open takes it

	hear      string // byRules or byModel
	hearModel string // at the model's endpoint; empty for the same

	dense   string // whether the embedder is used: judged, on or off
	ranking string // memory.Ranking.Name

	trust float64 // in a domain without decisions
}

// Who hears what users declare of themselves.
const (
	byRules = "rules"
	byModel = "model" // beside the rules
)

// What --dense takes.
const (
	denseJudged = "judged"
	denseOn     = "on"
	denseOff    = "off"
)

func (m *memoryFlags) register(flags *pflag.FlagSet, env func(string) string) {
	flags.StringVar(&m.mode, "memory", "on", "on, or off: the agent neither recalls nor keeps anything of its users")
	flags.StringVar(&m.index, "memory-index", cmp.Or(env("SLUICE_MEMORY_INDEX"), embedded), "where memories are searched: embedded, or qdrant://host:6334/collection?key_env=NAME for hosts together (SLUICE_MEMORY_INDEX)")
	flags.StringVar(&m.embedder, "embedder", cmp.Or(env("SLUICE_EMBEDDER"), "none"), "the model that also finds memories by meaning: none, model2vec:FOLDER, or openai:URL?dimensions=N&key=VARIABLE#MODEL (SLUICE_EMBEDDER)")
	flags.StringVar(&m.hear, "hear", cmp.Or(env("SLUICE_HEAR"), byRules), "who hears what users declare: rules, or model: also the --model, in the background, held to the user's words (SLUICE_HEAR)")
	flags.StringVar(&m.hearModel, "hear-model", env("SLUICE_HEAR_MODEL"), "the model at the endpoint that hears (SLUICE_HEAR_MODEL; default: the --model-name)")
	flags.StringVar(&m.dense, "dense", cmp.Or(env("SLUICE_DENSE"), denseJudged), "whether the embedder is used: judged (where sluice memory judge found that it helps), on (without a verdict), or off (SLUICE_DENSE)")
	flags.StringVar(&m.ranking, "memory-ranking", cmp.Or(env("SLUICE_MEMORY_RANKING"), memory.MeasuredRanking), "how memories are ranked: measured, or specified (the nearest by meaning, of them the best by words; it needs an embedder) (SLUICE_MEMORY_RANKING)")
	flags.Float64Var(&m.trust, "memory-trust", memory.InitialTrust, "how far answers are trusted in a domain without decisions, 0 to 1: from 0.7 on they may recommend, below 0.4 they show evidence alone")
}

// valid refuses what is no choice.
func (m *memoryFlags) valid() error {
	_, ranked := memory.RankingOf(m.ranking)
	switch {
	case m.mode != "on" && m.mode != "off":
		return fmt.Errorf("%w: --memory takes on or off", errUsage)
	case m.hear != byRules && m.hear != byModel:
		return fmt.Errorf("%w: --hear takes %s or %s", errUsage, byRules, byModel)
	case m.index != embedded && !strings.HasPrefix(m.index, "qdrant://"):
		return fmt.Errorf("%w: --memory-index takes %s or qdrant://host:port/collection", errUsage, embedded)
	case m.dense != denseJudged && m.dense != denseOn && m.dense != denseOff:
		return fmt.Errorf("%w: --dense takes %s, %s or %s", errUsage, denseJudged, denseOn, denseOff)
	case m.dense == denseOn && m.embedder == "none":
		return fmt.Errorf("%w: --dense on needs a model; name one with --embedder", errUsage)
	case !(m.trust >= 0 && m.trust <= 1):
		return fmt.Errorf("%w: --memory-trust takes 0 to 1", errUsage)
	case !ranked:
		return fmt.Errorf("%w: --memory-ranking takes %s or %s", errUsage, memory.MeasuredRanking, memory.SpecifiedRanking)
	}
	return nil
}

// shared reports whether all hosts search in one index, which outlives them.
func (m *memoryFlags) shared() bool { return m.index != embedded }

// open makes the index and the embedder; the latter is nil for none, and where it is off.
func (m *memoryFlags) open(ctx context.Context, env func(string) string) (memory.Store, memory.Embedder, error) {
	var embedder memory.Embedder
	var err error
	if m.embedder != "none" && m.dense != denseOff {
		if embedder, err = embed.Open(m.embedder, embed.Settings{Getenv: env}); err != nil {
			return nil, nil, err
		}
	}
	if !m.shared() {
		return index.New(), embedder, nil
	}
	options := qdrant.Options{URL: m.index, Getenv: env}
	if embedder != nil {
		options.Dimensions = embedder.Dimensions()
	}
	store, err := qdrant.Open(ctx, options)
	if err != nil {
		return nil, nil, err // and no store that is a nil pointer
	}
	return store, embedder, nil
}

// A minding is a keeper with the index that it fills, if it has one.
type minding struct {
	*keeper.Keeper
	index memory.Store
}

func (m *minding) close() error {
	err := m.Keeper.Close()
	if m.index != nil {
		err = errors.Join(err, m.index.Close())
	}
	return err
}

// mind opens the memories of a database: with the index that the command line names,
// which is filled from them, or the truth alone. The database must outlive it.
func (p *program) mind(ctx context.Context, db host.Database, indexed bool) (*minding, error) {
	if err := p.memory.valid(); err != nil {
		return nil, err
	}
	m := &minding{}
	ranking, _ := memory.RankingOf(p.memory.ranking) // it is valid
	c := keeper.Config{DB: db, Ranking: ranking, Unjudged: p.memory.dense == denseOn, Shared: p.memory.shared(), InitialTrust: &p.memory.trust, Logger: slog.New(slog.NewTextHandler(p.stderr, nil)), Progress: p.counting("memories are indexed")}
	var err error
	if indexed {
		if m.index, c.Embedder, err = p.memory.open(ctx, p.env); err != nil {
			return nil, err
		}
		c.Store = m.index
	}
	if m.Keeper, err = keeper.Open(ctx, c); err != nil {
		if m.index != nil {
			err = errors.Join(err, m.index.Close())
		}
		return nil, err
	}
	return m, nil
}

// counting says how far work is, once it has taken a second and then every second.
func (p *program) counting(what string) func(done int) {
	last := time.Now()
	return func(done int) {
		if time.Since(last) > time.Second {
			last = time.Now()
			fmt.Fprintf(p.stderr, "… %d %s\n", done, what)
		}
	}
}

// remember brings memory into the turns that the hall runs. Every command that asks
// the model calls it: an answer that nobody holds to its form must not be given.
func (p *program) remember(ctx context.Context, h *hall) error {
	if err := p.memory.valid(); err != nil {
		return err
	}
	if p.memory.mode == "off" {
		if _, decide := h.remembers.deciders(); decide {
			return fmt.Errorf("%w: %s names decision points, whose answers memory holds to their form; leave out --memory off, or the points", errUsage, p.policy)
		}
		return nil
	}
	ask, err := p.hearing()
	if err == nil {
		err = p.attach(ctx, h, true)
	}
	if err == nil {
		h.recall.Ask = ask // no turn runs yet
	}
	return err
}

// hearing gives the model that hears beside the rules, or nil for the rules alone. What it
// uses counts as what the agent's own model uses.
func (p *program) hearing() (recall.Ask, error) {
	if p.memory.hear != byModel {
		if p.memory.hearModel != "" {
			return nil, fmt.Errorf("%w: --hear-model %s hears nothing without --hear %s; give both, or neither", errUsage, p.memory.hearModel, byModel)
		}
		return nil, nil
	}
	if p.model.provider == offline {
		return nil, fmt.Errorf("%w: --hear %s needs a model that reads; give --model openai", errUsage, byModel)
	}
	named := p.model
	named.name = cmp.Or(p.memory.hearModel, named.name)
	m, err := named.open()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, system, user string, schema json.RawMessage) (string, host.Amount, error) {
		return agent.Ask(ctx, m, agent.Price{}, system, user, schema)
	}, nil
}

// attach opens memory for a hall that has none yet. A purge does so also where memory
// is off: what is kept of a session goes with it. It needs no index of the process's
// own, which would be filled for nothing.
func (p *program) attach(ctx context.Context, h *hall, indexed bool) error {
	if h.minding != nil {
		return nil
	}
	m, err := p.mind(ctx, h.store.Database(), indexed)
	if err != nil {
		return err
	}
	h.minding = m
	h.recall = recall.New(recall.Config{
		Keeper: m.Keeper, Store: h.store, Logger: slog.New(slog.NewTextHandler(p.stderr, nil)),
		Settings: func(tenant host.TenantID) recall.Settings { return h.remembers.of(tenant) },
	})
	h.dispatch.Recall, h.dispatch.Remember = h.recall.Recalled, h.recall.Remembered
	return h.join()
}

// join gives the dispatcher all hooks, in the order in which they are asked. Who
// listens to alerts decides nothing; memory comes before the policy's modules, so that
// what it recalls stands first; and the modules judge what memory lets pass.
func (h *hall) join() error {
	list := append([]host.Hook(nil), h.alerts...)
	if h.recall != nil {
		list = append(list, h.memoryHooks()...)
	}
	hooks, err := host.NewHooks(append(list, h.rules...)...)
	if err == nil {
		h.dispatch.Hooks = hooks
	}
	return err
}

// memoryHooks gives the hooks of memory. A guard of answers is one for tenants that
// make decisions alone: an answer that is judged is seen when it is whole, and no sooner.
func (h *hall) memoryHooks() (list []host.Hook) {
	tenants, decide := h.remembers.deciders()
	for _, hook := range h.recall.Hooks() {
		if hook.PostReasoning != nil {
			if !decide {
				continue
			}
			hook.Tenants = tenants
		}
		list = append(list, hook)
	}
	return list
}

// remembered is what a policy says of memory. Nil says nothing.
type remembered []rememberedOf

type rememberedOf struct {
	about    manifest.PolicyMemory
	settings recall.Settings
}

// readRemembered reads what a policy says of memory, and refuses what no tenant may have.
func readRemembered(policy *manifest.Policy) (remembered, error) {
	var r remembered
	tenants := []string{""} // one that no entry names
	for _, m := range policy.Memory() {
		one := rememberedOf{about: m}
		if err := json.Unmarshal(m.Settings, &one.settings); err != nil {
			return nil, host.Fail("policy", abi.NewProblem(abi.BadValue, "what the policy says of memory cannot be read"), err)
		}
		r, tenants = append(r, one), append(tenants, m.Tenants...)
	}
	for _, tenant := range tenants {
		if problem := r.of(host.TenantID(tenant)).Check(); problem != nil {
			return nil, host.Fail("policy", problem, nil)
		}
	}
	return r, nil
}

// of gives what all entries about a tenant say.
func (r remembered) of(tenant host.TenantID) (s recall.Settings) {
	for _, one := range r {
		if one.about.About(string(tenant)) {
			s = s.And(one.settings)
		}
	}
	return s
}

// deciders gives the tenants that have decision points, nil for all, and whether there
// are any.
func (r remembered) deciders() (tenants []host.TenantID, decide bool) {
	for _, one := range r {
		switch {
		case len(one.settings.Points) == 0:
		case one.about.Tenants == nil:
			return nil, true
		default:
			for _, tenant := range one.about.Tenants {
				tenants = append(tenants, host.TenantID(tenant))
			}
		}
	}
	return tenants, len(tenants) > 0
}

// How often memory is worked at, and how long what was archived comes back. Habits
// are of lives, which last for hours; a season comes back within a year.
const (
	observeEvery = time.Hour
	tidyEvery    = 24 * time.Hour
	archivedFor  = 365 * 24 * time.Hour
)

// memoryJobs gives the periodic work of memory; none where it is off.
func (h *hall) memoryJobs(log *slog.Logger) []jobs.Job {
	if h.recall == nil {
		return nil
	}
	return []jobs.Job{
		{Name: "memory.observe", Every: observeEvery, Limit: jobs.MaxLimit, Do: h.observe},
		{Name: "memory.tidy", Every: tidyEvery, Limit: jobs.MaxLimit, Do: func(ctx context.Context) error {
			archived, err := h.recall.Tidy(ctx)
			if archived > 0 {
				log.InfoContext(ctx, "memories of little worth were archived", "memories", archived)
			}
			return err
		}},
		{Name: "memory.purge", Every: tidyEvery, Limit: jobs.MaxLimit, Do: h.purgeArchived},
	}
}

// purgeArchived removes for good what nobody restored for long. One owner whose memories
// cannot be purged keeps no other one.
func (h *hall) purgeArchived(ctx context.Context) error {
	return h.minding.EachOwner(ctx, func(o keeper.Owner) error {
		_, err := h.minding.Purge(ctx, o, archivedFor)
		return err
	})
}

// observe reads every tenant's log for habits. One that fails keeps no other one.
func (h *hall) observe(ctx context.Context) error {
	var failed host.Failures
	for tenant := host.TenantID(""); ; {
		next, err := h.store.NextRecordTenant(ctx, tenant)
		if err != nil || next == "" {
			failed.Add(err)
			return failed.Err()
		}
		if tenant = next; tenant == host.HostTenant {
			continue
		}
		if err := h.recall.Observe(ctx, tenant); err != nil {
			failed.Add(fmt.Errorf("tenant %s: %w", tenant, err))
		}
	}
}
