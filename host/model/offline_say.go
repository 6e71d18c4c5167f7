package model

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/abi"
)

// A speaker says things in the user's language.
type speaker struct{ zh bool }

// speakTo chooses the language: the script of the user's last message, or,
// where it has no letters, the locale.
func speakTo(req Request) speaker {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if m := req.Messages[i]; m.Role == RoleUser && !m.ByHost {
			if hasHan(m.Text) {
				return speaker{zh: true}
			}
			if strings.ContainsFunc(m.Text, unicode.IsLetter) {
				return speaker{}
			}
		}
	}
	return speaker{zh: strings.HasPrefix(strings.ToLower(req.Locale), "zh")}
}

// pick gives the text in the user's language, filled in.
func (s speaker) pick(en, zh string, args ...any) string {
	if s.zh {
		en = zh
	}
	return fmt.Sprintf(en, args...)
}

func (s speaker) list(items []string) string { return strings.Join(items, s.pick(", ", "、")) }

// abilitiesMax bounds the tools that are named to the user at once.
const abilitiesMax = 12

// abilities says that nothing fits, and what can be asked for.
func (s speaker) abilities(tools []Tool) string {
	if len(tools) == 0 {
		return s.pick("I have no tools here, so there is nothing I can do.", "当前没有可用的工具，我无法执行操作。")
	}
	var b strings.Builder
	b.WriteString(s.pick("I have nothing that fits this. What I can do:", "没有合适的工具。我可以做："))
	for _, t := range tools[:min(len(tools), abilitiesMax)] {
		b.WriteString("\n- " + t.Name + s.pick(": ", "：") + cutRunes(firstSentence(t.Description), 120))
	}
	if more := len(tools) - abilitiesMax; more > 0 {
		b.WriteString(s.pick("\nand %d more.", "\n另有 %d 个。", more))
	}
	return b.String()
}

// whatIsMissing asks for the arguments that the user's words did not give.
func (s speaker) whatIsMissing(f filling) string {
	var labels []string
	for _, p := range f.missing {
		labels = append(labels, p.label(s.zh))
	}
	text := s.pick("To use %s I still need: %s.", "要使用 %s，还需要：%s。", f.tool.Name, s.list(labels))
	if say := s.exampleOf(f.tool); say != "" {
		text += s.pick(" For example: %q.", "例如：“%s”。", say)
	}
	return text
}

// plainly says that a write was held back.
func (s speaker) plainly(f filling) string {
	return s.pick("I did nothing: I cannot judge conditions, times or what not to do. Say plainly what %s shall do now.",
		"我没有执行任何操作：我无法判断条件、时间或否定的说法。请直接说明现在要用 %s 做什么。", f.tool.Name)
}

// whichOne asks for one value where the user gave several.
func (s speaker) whichOne(f filling) string {
	var asked []string
	for _, d := range f.doubtful {
		asked = append(asked, s.pick("%s (%s)", "%s（%s）", d.property.label(s.zh), s.list(d.values)))
	}
	return s.pick("I change one thing at a time with %s, and you gave several values for %s. Which one?",
		"%s 一次只处理一个，但您给了多个值：%s。请指定其中一个。", f.tool.Name, s.list(asked))
}

// exampleOf gives an example's words in the user's language, or "".
func (s speaker) exampleOf(t Tool) string {
	for _, e := range t.Examples {
		if e.Say != "" && e.Problem == 0 && hasHan(e.Say) == s.zh {
			return cutRunes(e.Say, sayRunes)
		}
	}
	return ""
}

func bracketed(text, more string, zh bool) string {
	if zh {
		return text + "（" + more + "）"
	}
	return text + " (" + more + ")"
}

// result tells how a call ended.
func (s speaker) result(m Message, t Tool) string {
	r := readResult(m)
	switch {
	case r.problem != nil:
		return s.problem(r.problem, t)
	case r.preview != "":
		return r.preview
	case r.isEmpty():
		if t.Effect == abi.Write {
			return s.pick("Done.", "已完成。")
		}
		return s.pick("Nothing was found.", "没有找到结果。")
	}
	return s.pick("%s: %s", "%s：%s", s.head(t), s.data(r.data))
}

func (s speaker) head(t Tool) string {
	if t.Effect == abi.Write {
		return s.pick("Done", "已完成")
	}
	return s.pick("Result", "结果")
}

// problem tells what went wrong and what to do now.
func (s speaker) problem(p *abi.Problem, t Tool) string {
	if p.Code == abi.PendingApproval { // its words are about what the model does meanwhile
		return s.pick("%s waits until it is confirmed.", "%s 正在等待确认。", t.Name)
	}
	message := p.Message
	if row := abi.RowOf(p.Code); s.zh && !hasHan(message) {
		message = row.UserZH + message
	}
	if p.Field != "" && !strings.Contains(message, p.Field) {
		message = p.Field + s.pick(": ", "：") + message
	}
	text := s.pick("%s was not done: %s", "%s 没有完成：%s", t.Name, ended(message, s.zh))
	if p.Hint != "" {
		text += s.pick(" ", "") + ended(p.Hint, s.zh)
	}
	if len(p.Candidates) > 0 {
		text += s.pick(" Possible: %s.", "可选：%s。", s.list(p.Candidates[:min(len(p.Candidates), listedMax)]))
	}
	return text
}

// ended gives a text that ends as a sentence does.
func ended(text string, zh bool) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") || strings.HasSuffix(text, "。") || strings.HasSuffix(text, "！") || strings.HasSuffix(text, "？") {
		return text
	}
	if zh {
		return text + "。"
	}
	return text + "."
}

// noted answers what the host tells: that something will not be done.
func (s speaker) noted() string {
	return s.pick("All right, that was not done. What else can I do?", "好的，这一步没有执行。还需要我做什么？")
}
