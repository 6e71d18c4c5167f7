package factcheck

import "strings"

// chineseClaims finds verbs with a mark of completion, and what is so now.
func (a *answerText) chineseClaims(at int) (list []claim) {
	c := a.clauses[at]
	if cl, ok := a.nowClaim(at); ok {
		list = append(list, cl)
	}
	if !containsAny(a.in(c), "已", "了", "好", "成", "完", "搞定", "刚", "啦") {
		return list
	}
	text := otherWords.Replace(a.in(c))
	if isQuestionZH(text) || containsAny(text, "取消本次", "取消这次", "取消了本次", "取消了这次", "取消操作", "取消该操作") {
		return list // asked, or only planned before
	}
	long := chineseVerbs()
	verbs := claimsZH(text, long[:], false)
	if len(verbs) == 0 {
		short := shortVerbs()
		verbs = claimsZH(text, short[:], true)
	}
	for _, cl := range verbs {
		cl.clause, cl.start, cl.end = at, cl.start+c.start, cl.end+c.start
		list = append(list, cl)
	}
	return list
}

// claimsZH gives for each verb its first place in a text where it is said to be
// done, with places in that text.
func claimsZH(text string, verbs []chineseVerb, short bool) (list []claim) {
	for _, v := range verbs {
		for from := 0; ; {
			i := strings.Index(text[from:], v.text)
			if i < 0 {
				break
			}
			i += from
			from = i + len(v.text)
			if isComplete(text, i, from, short) {
				list = append(list, claim{class: v.class, verb: v.text, by: doerZH(text, i), success: strings.Contains(text, "成功"), start: i, end: from})
				break
			}
		}
	}
	return list
}

// nowClaim finds that something has a value now.
func (a *answerText) nowClaim(at int) (claim, bool) {
	c := a.clauses[at]
	for _, now := range [...]string{"现在", "目前", "现价", "当前"} {
		i := strings.Index(a.in(c), now)
		if i < 0 {
			continue
		}
		end := c.start + i + len(now)
		for _, m := range a.numbers {
			if m.clause == at && m.start >= end {
				return claim{class: changes, verb: now, by: somebody, isNow: true, clause: at, start: c.start + i, end: end}, true
			}
		}
	}
	return claim{}, false
}

func isQuestionZH(text string) bool {
	return endsAny(text, "吗", "么", "呢", "没", "没有") || containsAny(text, "了吗", "了没", "是不是")
}

// isComplete reports whether the verb at text[i:end] is said to be done.
func isComplete(text string, i, end int, short bool) bool {
	after := strings.TrimLeft(text[end:], " ")
	if startsAny(after, "失败", "不了", "未", "没", "不成", "中", "时", "之前", "的话") {
		return false
	}
	before := text[:i]
	if startsAny(after, "了", "好了", "好啦", "完了", "掉了", "成功", "完成", "完毕", "到位", "出去了", "过了", "妥了", "回来了") {
		return true
	}
	done := containsAny(before, "已", "刚刚", "刚才", "刚帮", "刚给", "成功")
	if !short {
		return done || text[i:end] == "搞定" || endsAny(text, "了", "啦", "完成", "完毕", "成功") && !startsAny(after, "的")
	}
	moved := startsAny(after, "到", "成", "为", "至", "给", "回", "出", "好", "完", "入", "上", "下") || after == "" || !startsAny(after, "的") && hasHanStart(after)
	if done {
		return moved && !startsAny(after, "的")
	}
	return startsAny(after, "到", "成", "为", "至", "给", "好", "完") && endsAny(text, "了", "啦")
}

func hasHanStart(text string) bool { return text != "" && text[0] >= 0xE3 }

// doerZH says whose doing the words before a Chinese verb make it.
func doerZH(text string, i int) doer {
	before := text[:i]
	switch {
	case containsAny(before, "我", "帮您", "为您", "给您", "替您", "帮你", "为你", "给你", "把"):
		return assistant
	case strings.HasPrefix(before, "您") || strings.HasPrefix(before, "你") && !strings.Contains(before, "的"):
		return user
	}
	return somebody
}
