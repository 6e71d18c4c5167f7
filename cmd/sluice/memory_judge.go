package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
	figures "github.com/sluicehq/sluice/memory/measure"
)

func (m *rememberer) judgeCommand() *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "judge [DIR]", Short: "Judge by labelled data whether the model of --embedder finds memories better than words alone", Args: cobra.MaximumNArgs(1),
		Long: `DIR is a folder with docs.jsonl and queries.jsonl, as bench reads it; the best judge is a set of your own users'
questions. They are searched by words alone, and by words and meaning, in the measured ranking and in the
specified one. Half of the scopes choose the weight of the meaning; the other half, held out, gives the verdict: on,
only where even the lower end of the gain's interval is above the margin.

The verdict is kept in the store, in the place of the one before. Hosts with this model follow it at once,
unless --dense says otherwise. Without DIR, the verdicts that are kept are shown.`,
		Example: `  sluice memory judge ./labelled --embedder model2vec:/var/lib/sluice/potion-base-8M
  sluice memory judge ./labelled --dry-run --json
  sluice memory judge`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return m.onTruth(c.Context(), func(k *minding) error { return m.verdicts(c.Context(), k) })
			}
			return m.judge(c.Context(), args[0], dryRun)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "tell the verdict, and keep nothing")
	return c
}

func (m *rememberer) judge(ctx context.Context, dir string, dryRun bool) error {
	if m.memory.embedder == "none" {
		return fmt.Errorf("%w: --embedder names no model to judge", errUsage)
	}
	folders, err := figures.Folders(dir)
	if err != nil {
		return err
	}
	if len(folders) > 1 {
		return host.Fail("judge", abi.NewProblem(abi.BadValue, "%s has %d labelled folders; a verdict is of one", dir, len(folders)).WithHint("give %s, or another of them", folders[0]), nil)
	}
	model, err := embed.Open(m.memory.embedder, embed.Settings{Getenv: m.env})
	if err != nil {
		return err
	}
	judged, err := m.measured(ctx, folders[0], model)
	if err != nil {
		return err
	}
	if !dryRun {
		err = m.onTruth(ctx, func(k *minding) error { return k.KeepVerdicts(ctx, verdictsIn(judged)) })
	}
	return errors.Join(err, m.tellJudged(judged, !dryRun && err == nil))
}

func (m *rememberer) measured(ctx context.Context, folder string, model memory.Embedder) (judged figures.Judged, err error) {
	f, err := figures.Read(folder)
	if err != nil {
		return judged, err
	}
	label := fmt.Sprintf("judging %s on %s: %d texts, %d questions", model.Name(), f.Name, len(f.Texts), len(f.Queries))
	err = m.step(label, func() error {
		judged, err = figures.Judge(ctx, index.New(), model, f, m.counting("texts and questions are done"))
		return err
	})
	return judged, err
}

func verdictsIn(judged figures.Judged) []keeper.Verdict {
	all := make([]keeper.Verdict, len(judged.Judgements))
	for i, j := range judged.Judgements {
		all[i] = keeper.Verdict{Model: judged.Model, Ranking: j.Ranking, Meaning: j.Meaning, Figures: j.Verdict, Data: judged.Digest}
	}
	return all
}

func (m *rememberer) tellJudged(judged figures.Judged, kept bool) error {
	if m.json {
		m.print(map[string]any{"judged": judged, "kept": kept})
		return nil
	}
	say := speakIn(m.locale)
	w := m.table("SEARCH\tHALF\tQUESTIONS\tNDCG@10\tRECALL@5\tRECALL@10\tSESSIONS@5", "检索方式\t数据\t问题\tNDCG@10\t召回@5\t召回@10\t会话@5")
	for _, way := range judged.Ways {
		for _, half := range []figures.Half{figures.Tuned, figures.HeldOut} {
			m.wayRow(w, way, half, judged.Sessions)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(m.stdout, say.pick("weights tried on the tuned half (NDCG@10):", "调参数据上试过的权重（NDCG@10）："))
	for _, way := range judged.Tried {
		fmt.Fprintf(m.stdout, " %g: %.3f", way.Meaning, way.Halves[figures.Tuned].Quality)
	}
	fmt.Fprintln(m.stdout)
	for _, j := range judged.Judgements {
		fmt.Fprintf(m.stdout, "%s: %s\n", say.ranking(j.Ranking), say.judged(j.Verdict))
	}
	end := say.pick("kept for %s, in the place of what was kept before", "已保存 %s 的结论，取代之前的结论", judged.Model)
	if !kept {
		end = say.pick("not kept", "未保存")
	}
	_, err := fmt.Fprintln(m.stdout, end)
	return err
}

func (m *rememberer) wayRow(w table, way figures.Way, half figures.Half, sessions bool) {
	say := speakIn(m.locale)
	name := say.pick("%s, words alone", "%s，仅词语", say.ranking(way.Ranking))
	if way.Meaning > 0 {
		name = say.pick("%s, meaning x %g", "%s，语义 x %g", say.ranking(way.Ranking), way.Meaning)
	}
	f := way.Halves[half]
	hit := "-"
	if sessions {
		hit = fmt.Sprintf("%.3f", f.SessionsAt5)
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%.3f\t%.3f\t%.3f\t%s\n", name, say.half(half), f.Questions, f.Quality, f.At5, f.At10, hit)
}

// verdicts shows what is kept.
func (m *rememberer) verdicts(ctx context.Context, k *minding) error {
	all, err := k.Verdicts(ctx)
	if err != nil {
		return err
	}
	say := speakIn(m.locale)
	w := m.table("MODEL\tTERMS\tRANKING\tJUDGED\tDATA\tMEANING\tVERDICT", "模型\t词项\t排序\t时间\t数据\t权重\t结论")
	for _, v := range all {
		if m.json {
			m.print(v)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.12s\t%g\t%s\n", plain(v.Model), v.Terms, say.ranking(v.Ranking), v.At.Local().Format(time.DateTime), v.Data, v.Meaning, say.judged(v.Figures))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(all) == 0 && !m.json {
		fmt.Fprintln(m.stderr, say.pick("no model was judged", "尚未评判任何模型"))
	}
	return nil
}

func (s speaker) ranking(name string) string {
	return s.word(name, map[string]string{memory.MeasuredRanking: "实测排序", memory.SpecifiedRanking: "规范排序"})
}

func (s speaker) half(h figures.Half) string {
	return s.word(string(h), map[string]string{string(figures.Tuned): "调参", string(figures.HeldOut): "留出"})
}

// judged tells a verdict with its figures. The reason of an English one has them.
func (s speaker) judged(v embed.Verdict) string {
	if !s.zh {
		return v.Reason
	}
	state := "关闭"
	if v.On {
		state = "开启"
	}
	return fmt.Sprintf("%s：%d 个问题，NDCG@10 仅词语 %.3f，加语义 %.3f（%d 个变好，%d 个变差），增益区间 %+.3f 到 %+.3f", state, v.Queries, v.Without, v.With, v.Better, v.Worse, v.Low, v.High)
}

// leg tells whether memories are also found by meaning, and why.
func (s speaker) leg(l keeper.Leg) string {
	switch {
	case l.Why == keeper.NoModel:
		return s.pick("found by words alone: no --embedder, or --dense off", "仅按词语检索：没有 --embedder，或 --dense off")
	case l.Why == keeper.NotJudged:
		return s.pick("found by words alone: %s was not judged for this ranking; run sluice memory judge DIR", "仅按词语检索：%s 尚未就此排序评判；请运行 sluice memory judge DIR", l.Model)
	case l.Why == keeper.Unreadable:
		return s.pick("found by words alone: the verdict on %s cannot be read; judge it anew with sluice memory judge DIR", "仅按词语检索：无法读取 %s 的结论；请用 sluice memory judge DIR 重新评判", l.Model)
	case !l.On:
		return s.pick("found by words alone: %s was judged (%s)", "仅按词语检索：%s 已评判（%s）", l.Model, s.judged(l.Verdict.Figures))
	case l.Verdict == nil:
		return s.pick("found by meaning, too, by %s x %g, which nobody judged (--dense on)", "同时按语义检索：%s x %g，未经评判（--dense on）", l.Model, l.Meaning)
	}
	return s.pick("found by meaning, too, by %s x %g (%s)", "同时按语义检索：%s x %g（%s）", l.Model, l.Meaning, s.judged(l.Verdict.Figures))
}
