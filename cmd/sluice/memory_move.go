package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/documents"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
	figures "github.com/sluicehq/sluice/memory/measure"
)

// An importing is what an import is told.
type importing struct {
	*rememberer
	form  string
	about documents.Document
}

func (m *rememberer) importCommand() *cobra.Command {
	i := &importing{rememberer: m}
	c := &cobra.Command{
		Use: "import FILE", Short: "Keep what export wrote, or a document as facts", Args: cobra.ExactArgs(1),
		Long: `Import reads JSON lines, as export writes them, from a file or from - (standard input). A text or Markdown
document is cut into pieces, each a fact that leads back to its place. The same again is kept once, so that
an import that was broken off is simply repeated. A document that changed takes the place of what it was: pieces
that are word for word there stay, and what is gone is superseded. Its name is the path as it is given here.
What a user declared, in JSON lines, is settled with what is there as if it were said: the later counts, or the user
is asked, as memory.conflicts of the --policy has it; and what was seen of the user is held against it.`,
		Example: "  sluice memory import mia.jsonl --user mia\n  sluice memory import rules.md --title \"Rules of the platform\" --user mia\n  sluice memory export --user mia | sluice memory import - --user mia2",
		RunE:    func(c *cobra.Command, args []string) error { return i.run(c.Context(), args[0]) },
	}
	c.Flags().StringVar(&i.form, "form", "", "jsonl, plain or markdown (default: by the file's name)")
	c.Flags().StringVar(&i.about.Title, "title", "", "of a document: it is searched with every piece")
	c.Flags().StringVar(&i.about.Entity, "entity", "", "what a document is about, such as a product's number")
	c.Flags().StringVar(&i.about.Domain, "domain", "", "of decisions that a document is for")
	c.Flags().StringVar(&i.about.Scene, "scene", "", "where a document matters")
	return c
}

func (i *importing) run(ctx context.Context, file string) error {
	form := i.form
	if form == "" {
		form = formOf(file)
	}
	switch form {
	case "jsonl":
		return i.onTruth(ctx, func(k *minding) error { return i.lines(ctx, k, file) })
	case string(documents.Plain), string(documents.Markdown):
		i.about.Form = documents.Form(form)
		return i.onTruth(ctx, func(k *minding) error { return i.document(ctx, k, file) })
	}
	return fmt.Errorf("%w: the form of %s is not known; give --form jsonl, plain or markdown", errUsage, file)
}

func formOf(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".jsonl", ".ndjson", "":
		return "jsonl"
	case ".md", ".markdown":
		return string(documents.Markdown)
	case ".txt", ".text":
		return string(documents.Plain)
	}
	return ""
}

func (i *importing) lines(ctx context.Context, k *minding, file string) (err error) {
	from := i.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	s, err := i.settings()
	if err != nil {
		return err
	}
	done, err := k.Import(ctx, i.owner, &heard{ctx: ctx, from: from, say: i.counting("bytes are read")}, memory.DefaultReconcile(), s.ConflictPolicy())
	return errors.Join(err, i.tellKept(done.Kept, done.Known))
}

// heard is a stream that tells how far it was read, and ends with its context.
type heard struct {
	ctx  context.Context
	from io.Reader
	done int
	say  func(done int)
}

// Read reads on.
func (h *heard) Read(p []byte) (int, error) {
	if err := h.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := h.from.Read(p)
	h.done += n
	h.say(h.done)
	return n, err
}

// document has a document take the place of what was learned of it before.
func (i *importing) document(ctx context.Context, k *minding, file string) error {
	if file == "-" {
		return fmt.Errorf("%w: a document is read from a file, whose name its pieces lead back to", errUsage)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	i.about.ID, i.about.At = documentName(file), time.Now().UTC()
	done, err := k.Learn(ctx, i.owner, i.about, f, i.counting("pieces are kept"))
	if err != nil {
		return err
	}
	if i.json {
		i.print(map[string]any{"document": done.ID, "revision": done.Revision, "digest": done.Digest, "known": done.Known, "kept": done.Kept, "still": done.Still, "superseded": done.Gone})
		return nil
	}
	say := speakIn(i.locale)
	text := say.pick("%s: %d memories were kept; %d are still there, %d were superseded", "%s：新增 %d 条记忆，%d 条保持不变，%d 条已被取代", plain(done.ID), done.Kept, done.Still, done.Gone)
	if done.Known {
		text = say.pick("%s is known; nothing changed", "%s 没有变化", plain(done.ID))
	}
	_, err = fmt.Fprintln(i.stderr, text)
	return err
}

func (i *importing) tellKept(kept, known int) error {
	if i.json {
		i.print(map[string]int{"kept": kept, "known": known})
		return nil
	}
	_, err := fmt.Fprintln(i.stderr, speakIn(i.locale).pick("%d memories were kept; %d were there already", "新增 %d 条记忆，另有 %d 条已存在", kept, known))
	return err
}

func (m *rememberer) exportCommand() *cobra.Command {
	var out string
	var hide bool
	c := &cobra.Command{
		Use: "export", Short: "Write a user's memories as JSON lines", Args: cobra.NoArgs,
		Example: "  sluice memory export --user mia --out mia.jsonl\n  sluice memory export --user mia --masked",
		RunE: func(c *cobra.Command, _ []string) error {
			var mask func(string) string
			if hide {
				mask = masked
			}
			return m.onTruth(c.Context(), func(k *minding) error {
				n := 0
				err := m.writeTo(out, func(w io.Writer) (err error) {
					n, err = k.Export(c.Context(), m.owner, w, mask)
					return err
				})
				if err == nil {
					fmt.Fprintln(m.stderr, speakIn(m.locale).pick("%d memories were written", "已写出 %d 条记忆", n))
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write (default: standard output)")
	c.Flags().BoolVar(&hide, "masked", false, "without what was said: kinds, times, trust and where it comes from")
	return c
}

// masked stands in the place of a text that does not leave the house.
func masked(text string) string {
	if text == "" {
		return ""
	}
	return "[masked]"
}

func (m *rememberer) rebuildCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rebuild", Short: "Make the index of memories again from the store", Args: cobra.NoArgs,
		Long: `Rebuild empties the index of --memory-index and fills it with the memories of all tenants. The embedded index
is in the process and made at every start; here it is made once more, to see how long that takes. No memory
is lost with an index. While one that hosts share is filled they recall nothing, and say so. Where the model of
--embedder is on, it waits until every memory has its vector. It tells whether memories are also found by meaning, and why.`,
		Example: "  sluice memory rebuild\n  sluice memory rebuild --memory-index qdrant://127.0.0.1:6334",
		RunE: func(c *cobra.Command, _ []string) error {
			start := time.Now()
			return m.onMemories(c.Context(), true, func(k *minding) error {
				if m.memory.shared() { // else it was made a moment ago
					if err := k.Rebuild(c.Context(), m.counting("memories are indexed")); err != nil {
						return err
					}
				}
				if err := k.SyncVectors(c.Context(), m.counting("memories wait for a vector")); err != nil {
					return err
				}
				return m.tellIndex(c.Context(), k, time.Since(start))
			})
		},
	}
}

func (m *rememberer) tellIndex(ctx context.Context, k *minding, took time.Duration) error {
	state, err := k.State(ctx)
	if err != nil {
		return err
	}
	if m.json {
		m.print(map[string]any{"memories": state.Index.Entries, "version": state.Index.Version, "seconds": took.Seconds(), "meaning": state.Leg, "waiting": state.Waiting})
		return nil
	}
	say := speakIn(m.locale)
	fmt.Fprintln(m.stdout, say.pick("%d memories are indexed (%s), in %.1f s", "已索引 %d 条记忆（%s），用时 %.1f 秒", state.Index.Entries, state.Index.Version, took.Seconds()))
	if state.Waiting > 0 {
		fmt.Fprintln(m.stdout, say.pick("%d of them have no vector: the model failed on them, and is asked again every hour while a host serves", "其中 %d 条没有向量：模型处理失败，服务运行时每小时重试", state.Waiting))
	}
	_, err = fmt.Fprintln(m.stdout, say.leg(state.Leg))
	return err
}

// benchSeed makes the memories of the measurement; the same seed makes the same.
const benchSeed = 1

func (m *rememberer) benchCommand() *cobra.Command {
	var scale bool
	c := &cobra.Command{
		Use: "bench DIR", Short: "Measure recall on labelled data, and how fast and small memory is", Args: cobra.ExactArgs(1),
		Long: `DIR is a folder with docs.jsonl and queries.jsonl, or has such folders in it. Each measure stands beside what it
must be and what it should be; it ends with 1 where a must is missed. Half of the questions chose the constants,
and the other half, held out, shows what they are worth. Times are first those of the embedded index alone, and then
of what users wait for, in a store of its own in the folder for temporary files (TMPDIR), which takes some 300 MB
and three minutes.`,
		Example: "  sluice memory bench ../shared/data\n  sluice memory bench ../shared/data/locomo --scale=false --json",
		RunE:    func(c *cobra.Command, args []string) error { return m.bench(c.Context(), args[0], scale) },
	}
	c.Flags().BoolVar(&scale, "scale", true, "also measure times and memory with 100,000 memories of 1,000 users, by the index and in a store")
	return c
}

func (m *rememberer) bench(ctx context.Context, dir string, scale bool) error {
	folders, err := figures.Folders(dir)
	if err != nil {
		return err
	}
	var recalled []figures.Recalled
	for _, folder := range folders {
		err := m.step("asking the questions of "+filepath.Base(folder), func() error {
			f, err := figures.Read(folder)
			if err != nil {
				return err
			}
			r, err := figures.Recall(ctx, index.New(), f, memory.Measured())
			recalled = append(recalled, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	if !scale {
		return m.tellBench(figures.NewReport(recalled, nil, nil))
	}
	var scaled figures.Scaled
	err = m.step("measuring the index with 100,000 memories", func() (err error) {
		runtime.GC() // what the questions left is not of the index
		scaled, err = figures.Scale(ctx, func() memory.Store { return index.New() }, figures.Usual(), benchSeed)
		return err
	})
	if err != nil {
		return err
	}
	var kept figures.Kept
	err = m.step("measuring 100,000 memories in a store", func() (err error) {
		kept, err = m.benchKept(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return m.tellBench(figures.NewReport(recalled, &scaled, &kept))
}

// benchKept measures a keeper over a store of its own, which is removed afterwards.
func (m *rememberer) benchKept(ctx context.Context) (kept figures.Kept, err error) {
	dir, err := os.MkdirTemp("", "sluice-memory-bench-")
	if err != nil {
		return kept, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := state.Open(ctx, filepath.Join(dir, "store.db"), state.Options{})
	if err != nil {
		return kept, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	found := index.New()
	defer func() { err = errors.Join(err, found.Close()) }()
	k, err := keeper.Open(ctx, keeper.Config{DB: store.Database(), Store: found, Logger: slog.New(slog.NewTextHandler(m.stderr, nil))})
	if err != nil {
		return kept, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	return figures.Keep(ctx, k, figures.Usual(), benchSeed, m.counting("memories and questions are done"))
}

func (m *rememberer) tellBench(r figures.Report) error {
	if m.json {
		m.print(r)
	} else if err := r.Write(m.stdout); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Missed() {
			return errRefused
		}
	}
	return nil
}
