package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// A question that has nothing left to ask was answered by nobody.
func TestAQuestionThatCeasedIsNotShownAsAnswered(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	q := memory.Question{Asked: at}.Ceased(memory.Updated, at)
	for locale, want := range map[string]string{"en": "closed " + when(at) + ": what it is about changed", "zh-CN": when(at) + " 已关闭：所问内容已变化"} {
		if got := speakIn(locale).question(q); got != want {
			t.Errorf("in %s it is %q, want %q", locale, got, want)
		}
	}
}

// Whoever names a decision that is not there is told the command that lists them.
func TestADecisionThatIsNotThereIsToldWithTheCommandThatListsThem(t *testing.T) {
	h := aHouse(t)
	h.keeps(declared("mia takes the bus", memory.Source{Session: "s1", Input: "1"}))
	for _, args := range [][]string{{"act", "none", "accept"}, {"attribute", "none", "--lift", "0.1"}, {"attribute", "none", "--before", "gmv=1", "--after", "gmv=2"}} {
		var said strings.Builder
		p := &program{env: h.env, stdin: strings.NewReader(""), stdout: &said, stderr: &said}
		code := p.run(t.Context(), append([]string{"memory", "--user", "mia"}, args...))
		if want := "there is no decision"; code != exitFailed || !strings.Contains(said.String(), want) || strings.Count(said.String(), "to see their ids: sluice memory trust --traces") != 1 {
			t.Errorf("%v: exit code %d: %s", args, code, said.String())
		}
	}
}
