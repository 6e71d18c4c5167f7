package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit/verify"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/release"
)

// kind names what a record tells, for people.
func (s speaker) kind(kind host.RecordKind) string {
	names := map[host.RecordKind][2]string{
		host.RecordIntent: {"is about to run", "即将执行"}, host.RecordOutcome: {"ended", "结束"}, host.RecordRefusal: {"was refused", "被拒绝"},
		host.RecordDuplicate: {"was given the stored outcome", "返回已存结果"}, host.RecordRetry: {"failed and is tried again", "失败，重试"},
		host.RecordNotice: {"the user was told", "已告知用户"}, host.RecordRelease: {"a release", "技能版本"}, host.RecordEvent: {"event", "事件"},
		host.RecordHook: {"a hook said", "钩子意见"}, host.RecordState: {"the state was changed", "状态变更"}, host.RecordQuestion: {"a person was asked", "请求人工确认"},
		host.RecordAnswer: {"a person answered", "人工答复"}, host.RecordApproved: {"runs with a person's yes", "经人工同意执行"}, host.RecordGrant: {"a standing permission", "长期授权"},
		host.RecordErasure: {"payloads were erased", "内容已按请求删除"},
	}
	name, ok := names[kind]
	if !ok {
		return plain(string(kind))
	}
	return s.pick("%s", "%s", name[map[bool]int{true: 1}[s.zh]])
}

// What is shown of a record: what details of several kinds have in common.
type recordDetail struct {
	Args     json.RawMessage `json:"args"`
	Tier     abi.Tier        `json:"tier"`
	Status   string          `json:"status"` // of a call, or of a release
	Was      string          `json:"was"`    // the release before it
	Step     string          `json:"step"`
	Recovery string          `json:"recovery"`
	Attempt  int             `json:"attempt"`
	Problem  *abi.Problem    `json:"problem"`
	Repairs  []string        `json:"repairs"`
	Notes    []string        `json:"notes"`

	Verdicts dispatch.Verdicts `json:"verdicts"`

	Preview  string          `json:"preview"`
	Usage    *host.Usage     `json:"usage"`
	Approval host.ApprovalID `json:"approval"`
	By       string          `json:"by"`
	Words    string          `json:"words"`
	Erased   *struct {
		By string    `json:"by"`
		At time.Time `json:"at"`
	} `json:"erased"`
}

func detailOf(r host.Record) (d recordDetail) {
	if json.Unmarshal(r.Detail, &d) != nil {
		return recordDetail{} // of another form: list and show tell the rest
	}
	return d
}

// shortText bounds what a line of a list says.
const shortText = 80

func (s speaker) recordInShort(r host.Record) string {
	d := detailOf(r)
	var parts []string
	if d.Erased != nil {
		parts = append(parts, s.pick("erased %s by %s", "已于 %s 由 %s 删除", when(d.Erased.At), d.Erased.By))
	}
	if d.Problem != nil {
		parts = append(parts, fmt.Sprintf("%d %s", d.Problem.Code, d.Problem.Message))
	}
	if r.Kind == host.RecordRelease {
		parts = append([]string{s.release(r, d)}, parts...)
	}
	for _, part := range []string{d.Status, string(d.Tier), string(d.Args)} {
		if part != "" && len(parts) == 0 {
			parts = append(parts, part)
		}
	}
	text := []rune(strings.Join(strings.Fields(strings.Join(parts, " ")), " "))
	return plain(string(text[:min(len(text), shortText)]))
}

func (s speaker) callHead(r host.Record) string {
	return s.pick("call %s: %s of %s\nsession %s of user %s, begun %s\n", "调用 %s：%s（%s）\n会话 %s，用户 %s，开始于 %s\n",
		plain(string(r.Call)), plain(r.Tool), plain(cmp.Or(r.Release, "?")), plain(string(r.Session.Session)), plain(string(r.Session.User)), when(r.Time))
}

// recordAtLength is one step of a call's timeline.
func (s speaker) recordAtLength(r host.Record, after time.Duration) string {
	d := detailOf(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%6d  +%-9s %s", r.Seq, after.Round(time.Millisecond), s.kind(r.Kind))
	if d.Status != "" {
		fmt.Fprintf(&b, ": %s", plain(string(d.Status)))
	}
	b.WriteByte('\n')
	line := func(en, zh string, value any, there bool) {
		if there {
			lines := strings.Split(fmt.Sprint(value), "\n")
			for i := range lines {
				lines[i] = plain(lines[i])
			}
			text := strings.Join(lines, "\n                    ")
			fmt.Fprintf(&b, "                  %s %s\n", s.pick("%s", "%s", map[bool]string{false: en, true: zh}[s.zh]), text)
		}
	}
	line("arguments", "参数", string(d.Args), len(d.Args) > 0)
	line("tier", "风险级别", d.Tier, d.Tier != "")
	line("attempt", "第几次", d.Attempt, d.Attempt > 1)
	for _, repair := range d.Repairs {
		line("mended", "修复", repair, true)
	}
	line("allowed by", "放行", strings.Join(d.Verdicts.Allowed, ", "), len(d.Verdicts.Allowed) > 0)
	for _, v := range d.Verdicts.Others {
		line("verdict", "判定", s.verdict(v), true)
	}
	for _, note := range d.Notes {
		line("note", "备注", note, true)
	}
	if p := d.Problem; p != nil {
		line("problem", "问题", fmt.Sprintf("%d %s", p.Code, p.Message), true)
		line("hint", "提示", p.Hint, p.Hint != "")
	}
	line("step", "步骤", d.Step, d.Step != "")
	line("recovery", "处置", d.Recovery, d.Recovery != "")
	line("question", "确认单", d.Approval, d.Approval != "")
	line("by", "由", d.By, d.By != "")
	line("words", "留言", d.Words, d.Words != "")
	line("result", "结果", d.Preview, d.Preview != "")
	if u := d.Usage; u != nil && u.Fuel > 0 {
		line("used", "消耗", s.pick("%d units of fuel, %s of memory, %d host calls, %s", "%d 单位燃料，内存 %s，%d 次宿主调用，耗时 %s", u.Fuel, u.PeakMemory, u.HostCalls, u.Elapsed.Round(time.Microsecond)), true)
	}
	return b.String()
}

// verdict is what one said of a call.
func (s speaker) verdict(v dispatch.Verdict) string {
	text := v.By
	switch {
	case v.Code != 0:
		text += s.pick(": refused with %d", "：拒绝，代码 %d", v.Code)
	case v.Tier != "":
		text += s.pick(": %s", "：%s", v.Tier)
	}
	if v.Words != "" {
		text += s.pick(", %s", "，%s", v.Words)
	}
	if v.Fuel > 0 {
		text += s.pick(" (%d units of fuel, %s of memory)", "（%d 单位燃料，内存 %s）", v.Fuel, v.Memory)
	}
	return text
}

// release is what became of a release.
func (s speaker) release(r host.Record, d recordDetail) string {
	switch {
	case d.Status == string(release.Refused):
		return s.pick("%s was refused:", "%s 被拒绝：", r.Release)
	case d.Status == string(release.Pinned):
		return s.pick("%s was loaded beside the current one", "%s 已加载，但非当前版本", r.Release)
	case d.Was != "":
		return s.pick("%s took the place of %s", "%s 替换 %s", r.Release, d.Was)
	}
	return s.pick("%s was loaded", "%s 已加载", r.Release)
}

// report tells what a verification found.
func (s speaker) report(r verify.Report) string {
	var b strings.Builder
	for _, l := range r.Logs {
		b.WriteString(s.pick("%s: %d entries, signed %s with %s\n", "%s：%d 条，签署于 %s，密钥 %s\n", plain(l.Origin), l.Size, when(l.Time), plain(l.Key)))
	}
	if f := r.Finding; f != nil {
		b.WriteString(s.fault(f))
		return b.String()
	}
	b.WriteString(s.pick("whole: %d entries are what was sealed\n", "完整：%d 条均与封存时一致\n", r.Entries))
	if !r.Trusted {
		b.WriteString(s.pick("no key was named: that it is the host's own log is not shown\n", "未指定密钥：不能证明这是该主机的日志\n"))
	}
	return b.String()
}

// fault tells what is wrong; the verifier itself speaks English.
func (s speaker) fault(f *verify.Finding) string {
	if !s.zh {
		return fmt.Sprintf("WRONG (%s): %s\n", f.What, plain(f.Message))
	}
	what := map[string]string{
		verify.Changed: "记录被改动", verify.Removed: "记录或其内容被移除", verify.Reordered: "记录被调换顺序", verify.Added: "出现未封存的记录",
		verify.Signature: "签名与密钥不符", verify.Forked: "与已签署的检查点不一致", verify.Truncated: "日志被截短", verify.Seam: "两段日志不相衔接", verify.Malformed: "内容无法读取",
	}[f.What]
	at := fmt.Sprintf("日志 %d", f.Log)
	if f.Index >= 0 {
		at += fmt.Sprintf("，第 %d 条", f.Index)
	}
	if f.Seq > 0 {
		at += fmt.Sprintf("，记录 %d", f.Seq)
	}
	return fmt.Sprintf("不通过（%s）：%s。%s\n", cmp.Or(what, f.What), at, plain(f.Message))
}

func (s speaker) proof(r verify.ProofReport) string {
	var b strings.Builder
	for _, seq := range r.Records {
		b.WriteString(s.pick("record %d is in %s of %d entries, signed %s\n", "记录 %d 在 %s 中（共 %d 条，签署于 %s）\n", seq, plain(r.Log.Origin), r.Log.Size, when(r.Log.Time)))
	}
	if r.Earlier != nil {
		b.WriteString(s.pick("%s with %d entries goes on from what it was with %d\n", "%s 的 %d 条延续自当时的 %d 条\n", plain(r.Log.Origin), r.Log.Size, r.Earlier.Size))
	}
	if !r.Trusted {
		b.WriteString(s.pick("no key was named: that it is the host's own log is not shown\n", "未指定密钥：不能证明这是该主机的日志\n"))
	}
	return b.String()
}
