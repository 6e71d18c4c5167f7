package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/state"
)

// A speaker words what is about approvals for people, in English or Chinese.
type speaker struct{ zh bool }

func speakIn(locale string) speaker {
	return speaker{zh: strings.HasPrefix(strings.ToLower(locale), "zh")}
}

func (s speaker) pick(en, zh string, args ...any) string {
	if s.zh {
		return fmt.Sprintf(zh, args...)
	}
	return fmt.Sprintf(en, args...)
}

// pending tells of a question that waits, and how it is answered.
func (s speaker) pending(ref agent.ApprovalRef) string {
	var b strings.Builder
	b.WriteString(s.pick("  ? waits for confirmation: %s %s\n", "  ? 等待确认：%s %s\n", ref.Tool, ref.Args))
	for _, say := range ref.Says {
		fmt.Fprintf(&b, "    %s\n", say)
	}
	b.WriteString(s.pick("    sluice approvals approve %s   (or reject)\n", "    sluice approvals approve %s   （或 reject 拒绝）\n", ref.ID))
	return b.String()
}

// status names a status for people.
func (s speaker) status(status state.ApprovalStatus) string {
	if !s.zh {
		return string(status)
	}
	names := map[state.ApprovalStatus]string{
		state.ApprovalOpen: "待确认", state.ApprovalApproved: "已同意", state.ApprovalRejected: "已拒绝",
		state.ApprovalConflicted: "意见冲突", state.ApprovalCancelled: "已撤回", state.ApprovalUsed: "已执行",
	}
	if name, ok := names[status]; ok {
		return name
	}
	return string(status)
}

// line is a question in a list.
func (s speaker) line(v agent.ApprovalView) string {
	return fmt.Sprintf("%s  %s  %s %s  (%s)\n", v.ID, s.status(v.Status), v.Tool, v.Args, v.Session)
}

// whole is all that there is to know of a question.
func (s speaker) whole(v agent.ApprovalView) string {
	var b strings.Builder
	b.WriteString(s.line(v))
	for _, say := range v.Says {
		fmt.Fprintf(&b, "  %s\n", say)
	}
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	b.WriteString(s.pick("  release %s, tier %s, asked at %s\n", "  版本 %s，等级 %s，提问于 %s\n", v.Release, v.Tier, at(v.AskedAt)))
	if v.AnsweredBy != "" {
		b.WriteString(s.pick("  answered by %s at %s\n", "  %s 于 %s 答复\n", v.AnsweredBy, at(v.AnsweredAt)))
	}
	if v.ContraryBy != "" {
		b.WriteString(s.pick("  %s said otherwise, or took it back\n", "  %s 意见相反或已撤回\n", v.ContraryBy))
	}
	if v.Words != "" {
		b.WriteString(s.pick("  words: %s\n", "  附言：%s\n", v.Words))
	}
	if v.UsedBy != "" {
		b.WriteString(s.pick("  it ran as %s\n", "  执行编号 %s\n", v.UsedBy))
	}
	fmt.Fprintf(&b, "  digest %s\n", v.Digest)
	return b.String()
}

// answered tells what holds after an answer.
func (s speaker) answered(v agent.ApprovalView) string {
	switch v.Status {
	case state.ApprovalApproved:
		return s.pick("approved: %s %s may run once\n", "已同意：%s %s 可执行一次\n", v.Tool, v.Args)
	case state.ApprovalUsed:
		return s.pick("approved: %s %s has run\n", "已同意：%s %s 已执行\n", v.Tool, v.Args)
	case state.ApprovalRejected:
		return s.pick("rejected: %s %s does not run\n", "已拒绝：%s %s 不会执行\n", v.Tool, v.Args)
	case state.ApprovalCancelled:
		return s.pick("cancelled: %s %s does not run\n", "已撤回：%s %s 不会执行\n", v.Tool, v.Args)
	}
	return s.pick("the answers contradict each other: %s %s does not run\n", "答复互相矛盾：%s %s 不会执行\n", v.Tool, v.Args)
}

// goOn tells how the session goes on without a registry here.
func (s speaker) goOn(v agent.ApprovalView) string {
	return s.pick("A chat that waits in session %s goes on by itself; else give this command --registry.\n",
		"会话 %s 中等待的对话会自动继续；否则请给本命令加上 --registry。\n", v.Session.Session)
}
