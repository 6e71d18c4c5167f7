package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// questioned is a home in which two questions to mia wait: whether her words still hold,
// which three sessions contradict, and which of two constraints counts.
func questioned(t *testing.T) (env func(string) string, holds, counts string) {
	t.Helper()
	home, ctx := t.TempDir(), t.Context()
	store, err := state.Open(ctx, storeIn(home), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := keeper.Open(ctx, keeper.Config{DB: store.Database()})
	if err != nil {
		t.Fatal(err)
	}
	o := keeper.Owner{Tenant: "local", User: "mia"}
	declare := func(text, session string) (d keeper.Declaring) {
		for _, n := range memory.Listen(memory.Message{Tenant: o.Tenant, User: o.User, Session: host.SessionID(session), Input: "1", Text: text, At: time.Now().Add(-time.Hour)}) {
			one, failed := k.Declare(ctx, o, n, memory.LastWins)
			d, err = one, errors.Join(err, failed)
		}
		return d
	}
	declare("每次开场讲10分钟", "s0")
	var seen []memory.Node
	for i := range 3 {
		seen = append(seen, memory.Node{Text: fmt.Sprintf("opened with 3 minutes in live %d", i), Layer: memory.Behaviour, Kind: memory.Habit, Claim: new(memory.Between("opening.minutes", 3, 3, "分钟")), Scene: "live",
			Source: memory.Source{Session: host.SessionID(fmt.Sprint("live", i)), Order: 1}})
	}
	_, failed := k.Remember(ctx, o, seen)
	r, broken := k.Reconcile(ctx, o, memory.DefaultReconcile())
	declare("价格绝对不能低于59元", "s1")
	d := declare("价格绝对不能超过50元", "s2")
	if err := errors.Join(err, failed, broken, k.Close(), store.Close()); err != nil || len(r.Questions) != 1 || len(d.Choices) != 1 {
		t.Fatalf("%+v and %+v, %v", r.Questions, d.Choices, err)
	}
	return func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }, r.Questions[0].ID, d.Choices[0].ID
}

func TestAQuestionIsAnsweredForItsUser(t *testing.T) {
	for _, tt := range []struct {
		choice bool
		answer string
		want   []string // of what is printed, and of what is listed then
		listed []string
	}{
		{false, "keep", []string{": kept", "每次开场讲10分钟"}, []string{"active 每次开场讲10分钟"}},
		{false, "drop", []string{": retired", "superseded"}, []string{"superseded 每次开场讲10分钟"}},
		{false, "改成3分钟", []string{": updated", "superseded", "改成3分钟"}, []string{"superseded 每次开场讲10分钟", "active 改成3分钟"}},
		{true, "first", []string{": first"}, []string{"active 价格绝对不能低于59元", "superseded 价格绝对不能超过50元"}},
		{true, "以第二条为准", []string{": second"}, []string{"superseded 价格绝对不能低于59元", "active 价格绝对不能超过50元"}},
		{true, "Both", []string{": both"}, []string{"active 价格绝对不能低于59元", "active 价格绝对不能超过50元"}},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			env, holds, counts := questioned(t)
			if tt.choice {
				holds = counts
			}
			out := run(t, env, "memory", "answer", holds, tt.answer, "--user", "mia")
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("%s\nlacks %q", out, want)
				}
			}
			list := strings.Join(strings.Fields(run(t, env, "memory", "list", "--user", "mia", "--layer", "declared", "--status", "all")), " ")
			for _, want := range tt.listed {
				if !strings.Contains(list, want) {
					t.Errorf("%s\nlacks %q", list, want)
				}
			}
		})
	}
}

func TestAnAnswerIsToldInBothLanguagesAndForPrograms(t *testing.T) {
	env, holds, counts := questioned(t)
	out := run(t, env, "memory", "answer", holds, "保持不变", "--user", "mia", "--locale", "zh-CN")
	if !strings.Contains(out, "已答复：保持不变") || !strings.Contains(out, "编号") {
		t.Error(out)
	}
	var told struct {
		Question memory.Question
		Memories []memory.Node
	}
	out = run(t, env, "memory", "answer", counts, "second", "--user", "mia", "--json")
	if err := json.Unmarshal([]byte(out), &told); err != nil || told.Question.Answer != memory.Second || len(told.Memories) != 2 || told.Memories[0].Status != memory.Superseded {
		t.Errorf("%s, %v", out, err)
	}
}

func TestWhatAnswersNothingChangesNothing(t *testing.T) {
	env, holds, counts := questioned(t)
	for _, args := range [][]string{{"ask_none", "keep"}, {holds, "first"}, {holds, "maybe"}, {holds, "价格不低于10元"}, {counts, "keep"}, {counts, "third"}, {holds}} {
		p := &program{env: env, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
		if code := p.run(t.Context(), append([]string{"memory", "answer", "--user", "mia"}, args...)); code == exitOK {
			t.Errorf("%q is an answer", args)
		}
	}
	p := &program{env: env, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	if code := p.run(t.Context(), []string{"memory", "answer", holds, "keep", "--user", "tom"}); code == exitOK {
		t.Error("another user's question is answered")
	}
	if out := run(t, env, "memory", "gaps", "--user", "mia"); strings.Contains(out, "answered") || strings.Contains(out, "closed") {
		t.Error(out)
	}
}

// What is gone is proved by receipts, which have no word of it.
func TestReceiptsTellWhatIsGone(t *testing.T) {
	env, _, _ := questioned(t)
	if out := run(t, env, "memory", "receipts", "--user", "mia", "--json"); out != "" {
		t.Errorf("before anything is forgotten: %s", out)
	}
	run(t, env, "memory", "forget", "--all", "--yes", "--user", "mia")
	var r keeper.Receipt
	out := run(t, env, "memory", "receipts", "--user", "mia", "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || !r.Whole || len(r.IDs) != 6 || strings.Contains(out, "价格") {
		t.Errorf("%s, %v", out, err)
	}
	if out := run(t, env, "memory", "receipts", "--user", "mia", "--locale", "zh-CN"); !strings.Contains(out, "回执") || !strings.Contains(out, "此前的全部") || !strings.Contains(out, r.Digest) {
		t.Error(out)
	}
	if out := run(t, env, "memory", "receipts", "--user", "tom"); strings.Contains(out, r.ID) {
		t.Error(out)
	}
}
