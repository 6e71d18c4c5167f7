package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// word gives the Chinese word for one of ours, or ours where there is none.
func (s speaker) word(word string, chinese map[string]string) string {
	if !s.zh {
		return plain(word)
	}
	return cmp.Or(chinese[word], plain(word))
}

func (s speaker) layer(l memory.Layer) string {
	switch l {
	case memory.Declared:
		return s.pick("declared", "自述")
	case memory.Fact:
		return s.pick("fact", "事实")
	}
	return s.pick("behaviour", "行为")
}

func (s speaker) memoryKind(k memory.Kind) string {
	return s.word(string(k), map[string]string{string(memory.Preference): "偏好", string(memory.Constraint): "约束", string(memory.Feedback): "反馈",
		string(memory.FactOf): "事实", string(memory.Habit): "习惯", string(memory.Profile): "画像"})
}

func (s speaker) memoryStatus(status memory.Status) string {
	return s.word(string(status), map[string]string{string(memory.Active): "有效", string(memory.Superseded): "已被取代", string(memory.Falsified): "已证伪", string(memory.Archived): "已归档"})
}

func (s speaker) form(f memory.Form) string {
	return s.word(string(f), map[string]string{string(memory.Recommend): "推荐", string(memory.Refer): "参考", string(memory.EvidenceOnly): "仅证据"})
}

func (s speaker) lifeEvent(what string) string {
	return s.word(what, map[string]string{keeper.Remembered: "记下", keeper.Verified: "得到印证", keeper.Superseded: "被取代", keeper.Falsified: "被证伪",
		keeper.Archived: "归档", keeper.Restored: "恢复", keeper.Pinned: "置顶", keeper.Unpinned: "取消置顶", keeper.Prioritised: "设定优先级", keeper.Relinked: "改接取代者"})
}

// parts tells what makes a score.
func (s speaker) parts(parts []memory.Part) string {
	names := map[string]string{"words": "词语", "meaning": "语义", "neighbours": "上下文", "session": "会话", "date": "日期", "recency": "新近"}
	list := make([]string, len(parts))
	for i, p := range parts {
		list[i] = fmt.Sprintf("%s %.3f", s.word(p.Name, names), p.Value)
	}
	return strings.Join(list, " + ")
}

// life is all that there is to know of a memory, and where it stands, if that is in a document.
func (s speaker) life(l keeper.Life, at *origin) string {
	var b strings.Builder
	n := l.Node
	fmt.Fprintf(&b, "%s  %s, %s, %s\n  %s\n", n.ID, s.layer(n.Layer), s.memoryKind(n.Kind), s.memoryStatus(n.Status), plain(n.Text))
	s.about(&b, n)
	if at != nil {
		b.WriteString(s.pick("  stands in %s\n", "  位于 %s\n", s.origin(at)))
	}
	if n.Priority != 0 {
		b.WriteString(s.pick("  priority %d\n", "  优先级 %d\n", n.Priority))
	}
	b.WriteString(s.pick("  trust %.2f, verified %d times, recalled %d times, adopted %d times\n", "  可信度 %.2f，印证 %d 次，召回 %d 次，采纳 %d 次\n", n.Trust, n.Verified, n.Recalls, n.Adopts))
	b.WriteString(s.pick("\nwhat happened\n", "\n经过\n"))
	for _, e := range l.Events {
		cause := plain(e.Cause)
		if e.What != keeper.Falsified { // whose cause is somebody's words
			cause = fmt.Sprintf("%.36s", s.cause(cause)) // an id, or a digest
		}
		fmt.Fprintf(&b, "  %s  %s  %s\n", when(e.At), s.lifeEvent(e.What), cause)
	}
	for i, g := range l.Gaps {
		if i == 0 {
			b.WriteString(s.pick("\nwhat contradicts it\n", "\n与之不符\n"))
		}
		fmt.Fprintf(&b, "  %s  %s\n", when(g.At), s.gap(g))
	}
	for _, q := range l.Questions {
		fmt.Fprintf(&b, "%s  %s  %s\n", s.pick("\nquestion", "\n提问"), q.ID, s.question(q))
		if q.IsChoice() {
			b.WriteString(s.pick("  which counts: (1) %s \"%s\" or (2) %s \"%s\"\n", "  以哪条为准：①%s“%s”，②%s“%s”\n",
				q.Memory, plain(q.Said.Text(s.locale())), q.Other, plain(q.Seen.Text(s.locale()))))
		}
	}
	for i, t := range l.Traces {
		if i == 0 {
			b.WriteString(s.pick("\ndecisions that point to it\n", "\n引用它的决策\n"))
		}
		fmt.Fprintf(&b, "  %s  %s  %s\n", when(t.Shown), t.ID, plain(t.Point))
	}
	if len(l.Derived) > 0 {
		fmt.Fprintf(&b, "%s %v\n", s.pick("\nmade of it:", "\n由它得出："), l.Derived)
	}
	s.worth(&b, l.Fate)
	return b.String()
}

// about tells what a memory is about, where it comes from and when it holds.
func (s speaker) about(b *strings.Builder, n memory.Node) {
	pair := func(en, zh, value string) {
		if value != "" {
			if s.zh {
				en = zh
			}
			fmt.Fprintf(b, "  %s %s\n", en, plain(value))
		}
	}
	pair("about", "对象", n.Entity)
	pair("domain", "领域", n.Domain)
	pair("scene", "场景", n.Scene)
	if n.Claim != nil {
		pair("claim", "要点", s.topic(n.Claim.Topic)+": "+n.Claim.Text(s.locale()))
	}
	pair("from session", "来自会话", string(n.Source.Session))
	pair("from live", "来自直播", string(n.Source.Live))
	pair("from message", "来自消息", string(n.Source.Input))
	pair("from call", "来自调用", string(n.Source.Call))
	pair("from document", "来自文档", n.Source.Document)
	pair("superseded by", "取代者", string(n.SupersededBy))
	b.WriteString(s.pick("  said or seen %s; holds %s; known %s\n", "  记录于 %s；有效期 %s；知晓期 %s\n", when(n.At), s.span(n.Valid), s.span(n.Known)))
}

func (s speaker) locale() string {
	if s.zh {
		return "zh"
	}
	return "en"
}

func (s speaker) span(v memory.Span) string {
	end := func(t time.Time) string {
		if t.IsZero() {
			return "…"
		}
		return when(t)
	}
	if v == (memory.Span{}) {
		return s.pick("always", "始终")
	}
	return end(v.From) + " – " + end(v.Until)
}

// worth tells what the job that forgets would do, and why.
func (s speaker) worth(b *strings.Builder, f memory.Fate) {
	b.WriteString(s.pick("\nworth %.3f: %s\n", "\n价值 %.3f：%s\n", f.Worth.Score, f.Why))
	w := newTable(b, 0)
	for _, factor := range f.Worth.Factors {
		fmt.Fprintf(w, "  %s\t%.3f\t%s\n", s.factor(factor.Name), factor.Value, factor.Why)
	}
	_ = w.Flush() // a strings.Builder takes all
}

func (s speaker) factor(name string) string {
	return s.word(name, map[string]string{memory.FactorScene: "场景", memory.FactorFreshness: "时效", memory.FactorTime: "使用", memory.FactorCredibility: "可信"})
}

// cause tells what made an event: a reason of the job that archives, an id, or a digest.
func (s speaker) cause(cause string) string {
	return s.word(cause, map[string]string{memory.FateExpired: "已过有效期", memory.FateAge: "存放过久", memory.FateRatio: "很少被采纳", memory.FateScore: "价值过低"})
}

// topic names what a claim is about: in Chinese by the first word that it is called by.
func (s speaker) topic(topic string) string {
	for _, subject := range memory.Subjects() {
		if s.zh && subject.Topic == topic {
			return subject.Names[0]
		}
	}
	return plain(topic)
}

// gap tells one contradiction, and how it was closed.
func (s speaker) gap(g memory.Gap) string {
	text := s.pick("%s: said %s, seen %s", "%s：说的是 %s，实际是 %s", s.topic(g.Topic), plain(g.Said.Text(s.locale())), plain(g.Seen.Text(s.locale())))
	if g.Closed != "" {
		text += s.pick(" (closed: %s)", "（已结束：%s）", s.resolution(memory.Resolution(g.Closed)))
	}
	return text
}

func (s speaker) resolution(r memory.Resolution) string {
	return s.word(string(r), map[string]string{string(memory.Updated): "已更新", string(memory.Kept): "保持不变", string(memory.Retired): "已取消", string(memory.Unanswered): "无人答复",
		string(memory.First): "以第一条为准", string(memory.Second): "以第二条为准", string(memory.Both): "两条都保留"})
}

// question tells how far a question is.
func (s speaker) question(q memory.Question) string {
	switch {
	case q.Answer == memory.Unanswered:
		return s.pick("closed %s: nobody answered it", "%s 已关闭：无人答复", when(q.Answered))
	case q.Moot:
		return s.pick("closed %s: what it is about changed", "%s 已关闭：所问内容已变化", when(q.Answered))
	case !q.Answered.IsZero():
		return s.pick("answered %s: %s", "%s 已答复：%s", when(q.Answered), s.resolution(q.Answer))
	case !q.Asked.IsZero():
		return s.pick("asked %s; not answered yet", "%s 已提问，等待答复", when(q.Asked))
	}
	if q.IsChoice() {
		return s.pick("both count until the user has chosen; it waits to be asked when it matters", "两条都有效，待用户选择；将在相关时提问")
	}
	return s.pick("waits for a decision about it", "等待相关决策时提问")
}
