package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A rememberer is one run of the command: whose memories, and in which language
// people are spoken to.
type rememberer struct {
	*program
	owner  keeper.Owner
	locale string
}

func (p *program) memoryCommand() *cobra.Command {
	m := &rememberer{program: p}
	c := &cobra.Command{
		Use: "memory", Short: "See what is remembered of a user, why, and have it forgotten",
		Long: `Memories are in the store, in three layers: what the user said (declared), what tools returned (fact), and
what the user does (behaviour). Behaviour never changes the user's words: where it contradicts them it leaves
a gap, and the third gap one question. While a host serves, jobs look for habits and archive what is worth little.`,
		Example: `  sluice memory list --user mia
  sluice memory search "how long should the opening be" --user mia --why
  sluice memory why 0197… --user mia
  sluice memory gaps --user mia
  sluice memory answer ask_3af7… keep --user mia
  sluice memory forget --entity 1001 --user mia`,
	}
	flags := c.PersistentFlags()
	flags.StringVar((*string)(&m.owner.Tenant), "tenant", "local", "the tenant")
	flags.StringVar((*string)(&m.owner.User), "user", "local", "the user")
	flags.StringVar(&m.locale, "locale", "", "language of what is printed, such as en or zh-CN")
	c.AddCommand(m.listCommand(), m.searchCommand(), m.whyCommand(), m.gapsCommand(), m.answerCommand(), m.trustCommand(), m.actCommand(), m.attributeCommand(),
		m.pinCommand(), m.falsifyCommand(), m.restoreCommand(), m.forgetCommand(), m.receiptsCommand(), m.importCommand(), m.exportCommand(), m.rebuildCommand(), m.benchCommand(), m.judgeCommand())
	return c
}

// onTruth runs work on the memories alone: no index is made for it.
func (m *rememberer) onTruth(ctx context.Context, work func(*minding) error) error {
	return m.onMemories(ctx, false, work)
}

func (m *rememberer) onMemories(ctx context.Context, indexed bool, work func(*minding) error) (err error) {
	store, err := state.Open(ctx, cmp.Or(m.store, storeIn(m.home)), state.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	k, err := m.mind(ctx, store.Database(), indexed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	return work(k)
}

// A choice is which memories are wanted.
type choice struct {
	layers, kinds, statuses []string
	entity, document, asOf  string
	limit                   int
}

func (s *choice) register(c *cobra.Command, limit int) {
	f := c.Flags()
	f.StringSliceVar(&s.layers, "layer", nil, "only of these layers: declared, fact, behaviour")
	f.StringSliceVar(&s.kinds, "kind", nil, "only of these kinds: preference, constraint, feedback, fact, habit, profile")
	f.StringSliceVar(&s.statuses, "status", nil, "of these statuses: active, superseded, falsified, archived, or all (default: active)")
	f.StringVar(&s.entity, "entity", "", "only about this, such as a product's number")
	f.StringVar(&s.asOf, "as-of", "", "what held at this time, as far as it was known then: 2026-05-01 or 2026-05-01T20:00:00Z")
	f.IntVar(&s.limit, "limit", limit, "at most so many (0: all)")
}

// page gives the choice as the keeper takes it.
func (s *choice) page() (page keeper.Page, err error) {
	page.Entity, page.Document = s.entity, documentName(s.document)
	for _, name := range s.layers {
		layer, err := layerOf(name)
		if err != nil {
			return page, err
		}
		page.Layers = append(page.Layers, layer)
	}
	for _, kind := range s.kinds {
		if !slices.Contains(everyKind(), memory.Kind(kind)) {
			return page, noChoice("kind", kind, everyKind())
		}
		page.Kinds = append(page.Kinds, memory.Kind(kind))
	}
	for _, status := range s.statuses {
		if status != "all" && !slices.Contains(everyStatus(), memory.Status(status)) {
			return page, noChoice("status", status, append(everyStatus(), "all"))
		}
		page.Statuses = append(page.Statuses, memory.Status(status))
	}
	if s.limit < 0 {
		return page, fmt.Errorf("%w: --limit takes how many at most, or 0 for all (got %d)", errUsage, s.limit)
	}
	switch {
	case slices.Contains(s.statuses, "all"), s.asOf != "" && s.statuses == nil: // what held then may not hold now
		page.Statuses = nil
	case s.statuses == nil:
		page.Statuses = []memory.Status{memory.Active}
	}
	if s.asOf != "" {
		at, err := timeIn(s.asOf)
		if err != nil {
			return page, err
		}
		page.AsOf = &keeper.Moment{True: at, Known: at}
	}
	return page, nil
}

func layerOf(name string) (memory.Layer, error) {
	switch strings.ToLower(name) {
	case "declared", "l1", "1":
		return memory.Declared, nil
	case "fact", "l2", "2":
		return memory.Fact, nil
	case "behaviour", "behavior", "l3", "3":
		return memory.Behaviour, nil
	}
	return 0, noChoice("layer", name, []string{"declared", "fact", "behaviour"})
}

// noChoice refuses a value that a flag does not take, and lists those that it does.
func noChoice[T ~string](flag, got string, choices []T) error {
	list := make([]string, len(choices))
	for i, choice := range choices {
		list[i] = string(choice)
	}
	last := len(list) - 1
	return fmt.Errorf("%w: --%s takes %s or %s (got %.40q)", errUsage, flag, strings.Join(list[:last], ", "), list[last], got)
}

// timeIn reads a time; a day is its end, as people mean it.
func timeIn(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return day, fmt.Errorf("%w: --as-of takes a day such as 2026-05-01, or a time such as 2026-05-01T20:00:00Z", errUsage)
	}
	return day.AddDate(0, 0, 1).Add(-time.Microsecond), nil
}

func (m *rememberer) listCommand() *cobra.Command {
	var s choice
	c := &cobra.Command{
		Use: "list", Short: "List a user's memories, the oldest first", Args: cobra.NoArgs,
		Example: "  sluice memory list --user mia\n  sluice memory list --layer declared --status all --json\n  sluice memory list --entity 1001 --as-of 2026-05-01",
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := s.page()
			if err != nil {
				return err
			}
			return m.onTruth(c.Context(), func(k *minding) error { return m.list(c.Context(), k, page, s.limit) })
		},
	}
	s.register(c, 0)
	c.Flags().StringVar(&s.document, "document", "", "only what was learned of this document")
	return c
}

func (m *rememberer) list(ctx context.Context, k *minding, page keeper.Page, limit int) error {
	w := m.table("ID\tLAYER\tKIND\tABOUT\tTIME\tTRUST\tSTATUS\tTEXT", "编号\t层\t类别\t对象\t时间\t可信度\t状态\t内容")
	_, err := m.each(ctx, k, page, limit, func(n memory.Node) error {
		if m.json {
			m.print(n)
			return nil
		}
		return m.row(w, n, "")
	})
	return errors.Join(err, w.Flush())
}

// each gives the memories that are wanted, and how many they were.
func (m *rememberer) each(ctx context.Context, k *minding, page keeper.Page, limit int, take func(memory.Node) error) (n int, err error) {
	for {
		if limit > 0 {
			page.Limit = min(limit-n, keeper.MaxPage)
		}
		list, err := k.List(ctx, m.owner, page)
		if err != nil {
			return n, err
		}
		for _, one := range list {
			if err := take(one); err != nil {
				return n, err
			}
			n++
		}
		if len(list) < max(page.Limit, 1) || page.Limit == 0 && len(list) < keeper.MaxPage || n == limit {
			return n, nil
		}
		page.After = list[len(list)-1].ID
	}
}

// table begins a table for people; with --json it stays empty.
func (m *rememberer) table(en, zh string) table {
	w := newTable(m.stdout, 0)
	switch {
	case m.json:
	case speakIn(m.locale).zh:
		fmt.Fprintln(w, zh)
	default:
		fmt.Fprintln(w, en)
	}
	return w
}

// row writes a memory as one line; before, which may be empty, are columns of its own.
func (m *rememberer) row(w table, n memory.Node, before string) error {
	say := speakIn(m.locale)
	status := say.memoryStatus(n.Status)
	if n.Pinned {
		status += say.pick(", pinned", "，置顶")
	}
	_, err := fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%.2f\t%s\t%s\n", before, n.ID, say.layer(n.Layer), say.memoryKind(n.Kind), plain(n.Entity), when(n.At), n.Trust, status, short(plain(n.Text)))
	return err
}

func (m *rememberer) searchCommand() *cobra.Command {
	var s choice
	var show showing
	var all bool
	c := &cobra.Command{
		Use: "search WORDS…", Short: "Find memories as the agent does", Args: cobra.MinimumNArgs(1),
		Long: `Search finds what the agent would recall for these words, best first. What is looked at here does not count
as recalled. --why tells what makes each score: the words, the meaning (with an --embedder that is on), neighbours,
the session, and a date that was named. A piece of a document tells where it stands, and whether the file still is
what it was.`,
		Example: "  sluice memory search \"how long is the opening\" --user mia --why\n  sluice memory search 开场 --kind preference --json\n  sluice memory search price --all-users",
		RunE: func(c *cobra.Command, args []string) error {
			page, err := s.page()
			if err != nil {
				return err
			}
			q := keeper.Query{Text: strings.Join(args, " "), Limit: s.limit, AsOf: page.AsOf, Quiet: true,
				Filter: memory.Filter{Tenant: m.owner.Tenant, User: m.owner.User, Entity: page.Entity, Kinds: page.Kinds, Layers: page.Layers}}
			if s.statuses != nil {
				q.Filter.Statuses = page.Statuses
			}
			if s.statuses != nil && page.Statuses == nil {
				q.Filter.Statuses = everyStatus()
			}
			if all {
				q.Filter.User, q.AllUsers = "", true
			}
			return m.onMemories(c.Context(), true, func(k *minding) error { return m.search(c.Context(), k, q, show) })
		},
	}
	s.register(c, keeper.DefaultRecall)
	c.Flags().BoolVar(&show.why, "why", false, "tell what makes each score")
	c.Flags().BoolVar(&show.around, "around", false, "also show the text around pieces of documents, as the agent reads it")
	c.Flags().BoolVar(&all, "all-users", false, "of all users of the tenant")
	return c
}

// A showing is what a search tells beside what it finds.
type showing struct{ why, around bool }

func (m *rememberer) search(ctx context.Context, k *minding, q keeper.Query, show showing) error {
	if err := k.Sync(ctx); err != nil {
		return err
	}
	hits, err := k.Recall(ctx, q)
	if err != nil {
		return err
	}
	w := m.table("SCORE\tID\tLAYER\tKIND\tABOUT\tTIME\tTRUST\tSTATUS\tTEXT", "得分\t编号\t层\t类别\t对象\t时间\t可信度\t状态\t内容")
	say := speakIn(m.locale)
	for _, hit := range hits {
		from, failed := m.origins(ctx, k, keeper.Owner{Tenant: hit.Node.Tenant, User: hit.Node.User}, hit.Node.ID)
		err = errors.Join(err, failed)
		at := from[hit.Node.ID]
		if m.json {
			m.print(placedHit{hit, at})
			continue
		}
		err = errors.Join(err, m.row(w, hit.Node, fmt.Sprintf("%.3f\t", hit.Score)))
		if at != nil {
			fmt.Fprintf(w, "\t%s\n", say.origin(at))
		}
		if show.why {
			fmt.Fprintf(w, "\t%s\n", say.parts(hit.Parts))
		}
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if show.around && !q.AllUsers {
		if err := m.passages(ctx, k, m.owner, hits); err != nil {
			return err
		}
	}
	if len(hits) == 0 && !m.json {
		fmt.Fprintln(m.stderr, say.pick("nothing is remembered that these words find", "没有找到相关记忆"))
	}
	return nil
}

func (m *rememberer) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "why ID", Short: "Tell where a memory comes from, what became of it, and what it is worth", Args: cobra.ExactArgs(1),
		Long:    `What it is worth is told as the job that forgets sees it: with the --policy that the host is started with.`,
		Example: "  sluice memory why 0197… --user mia\n  sluice memory why 0197… --user mia --locale zh-CN",
		RunE: func(c *cobra.Command, args []string) error {
			return m.onTruth(c.Context(), func(k *minding) error {
				set, err := m.forgetting(c.Context(), k)
				if err != nil {
					return err
				}
				life, err := k.Why(c.Context(), m.owner, memory.ID(args[0]), set, m.locale)
				if err != nil {
					return err
				}
				from, err := m.origins(c.Context(), k, m.owner, life.Node.ID)
				if err != nil {
					return err
				}
				at := from[life.Node.ID]
				if m.json {
					m.print(placedLife{life, at})
					return nil
				}
				_, err = fmt.Fprint(m.stdout, speakIn(m.locale).life(life, at))
				return err
			})
		},
	}
}

func (m *rememberer) pinCommand() *cobra.Command {
	var off bool
	var priority int
	c := &cobra.Command{
		Use: "pin ID…", Short: "Keep memories from being archived by a job, and say which count more", Args: cobra.MinimumNArgs(1),
		Long: `A pinned memory is not archived by a job, and not replaced by later words without asking the user. With --priority,
of two declarations that contradict each other from then on the one with the higher number counts, then the later one.`,
		Example: "  sluice memory pin 0197… --user mia\n  sluice memory pin 0197… --priority 10 --user mia\n  sluice memory pin 0197… --user mia --off",
		RunE: func(c *cobra.Command, args []string) error {
			ranked := c.Flags().Changed("priority")
			if priority < -keeper.MaxPriority || priority > keeper.MaxPriority {
				return fmt.Errorf("%w: --priority takes %d to %d (got %d)", errUsage, -keeper.MaxPriority, keeper.MaxPriority, priority)
			}
			return m.onTruth(c.Context(), func(k *minding) error {
				for _, id := range args {
					if ranked {
						if err := k.Prioritise(c.Context(), m.owner, memory.ID(id), priority); err != nil {
							return err
						}
					}
					if err := k.Pin(c.Context(), m.owner, memory.ID(id), !off); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&off, "off", false, "no longer")
	c.Flags().IntVar(&priority, "priority", 0, "how much they count against other declarations of the user's; 0 for as much as any")
	return c
}

func (m *rememberer) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore ID…", Short: "Have memories count again that were archived, superseded or falsified", Args: cobra.MinimumNArgs(1),
		Example: "  sluice memory restore 0197… --user mia",
		RunE: func(c *cobra.Command, args []string) error {
			return m.onTruth(c.Context(), func(k *minding) error {
				for _, id := range idsIn(args) { // none is restored if one is not there
					if _, err := k.Get(c.Context(), m.owner, id); err != nil {
						return err
					}
				}
				back, err := k.Restore(c.Context(), m.owner, idsIn(args))
				if err != nil {
					return err
				}
				if m.json {
					m.print(map[string]any{"restored": back})
					return nil
				}
				fmt.Fprintln(m.stderr, speakIn(m.locale).pick("%d memories count again", "%d 条记忆已恢复", len(back)))
				return nil
			})
		},
	}
}

func idsIn(args []string) []memory.ID {
	ids := make([]memory.ID, len(args))
	for i, id := range args {
		ids[i] = memory.ID(id)
	}
	return ids
}

func everyStatus() []memory.Status {
	return []memory.Status{memory.Active, memory.Superseded, memory.Falsified, memory.Archived}
}

func everyKind() []memory.Kind {
	return []memory.Kind{memory.Preference, memory.Constraint, memory.Feedback, memory.FactOf, memory.Habit, memory.Profile}
}
