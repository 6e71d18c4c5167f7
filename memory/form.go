package memory

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Instruction tells the model how much it may say. It is given for each question
// that asks for a decision, and CheckForm holds the answer to it.
func (f Form) Instruction(locale string) string {
	speak := speakIn(locale)
	switch f {
	case Recommend:
		return speak.pick(
			"Trust in this domain is high. Recommend one thing, and give with it: the evidence by its ids, one counter-example from the record, one alternative, and your confidence in percent.",
			"该领域的信任度高。请给出一条建议，并同时给出：证据（附编号）、记录中的一个反例、一个备选方案，以及以百分比表示的置信度。")
	case Refer:
		return speak.pick(
			"Trust in this domain is middling. Give the evidence by its ids, and at most one weak reference, such as \"for reference, ...\" or \"you could consider ...\". Do not recommend, advise, instruct or say what should be done; the user decides.",
			"该领域的信任度中等。请给出证据（附编号），最多再给一条弱参考，例如“供参考……”或“可以考虑……”。不要推荐、建议、下指令，也不要说应该怎么做；由用户决定。")
	}
	return speak.pick(
		"Trust in this domain is low. Give evidence only: what was said, measured and done, by its ids. Do not recommend, suggest, advise, propose, instruct or say what could or should be done; the user decides.",
		"该领域的信任度低。只给出证据：说过什么、测得什么、做过什么（附编号）。不要推荐、建议、提议、下指令，也不要说可以或应该怎么做；由用户决定。")
}

// MaxFormBytes bounds an answer that is checked for its form. What is longer is a
// finding of its own: nobody can tell what its rest says.
const MaxFormBytes = 32 << 10

// maxFormFindings bounds the findings of one answer: more than anybody reads.
const maxFormFindings = 20

// A FormFinding is a piece of an answer that says more than the trust allows.
type FormFinding struct {
	Words string `json:"words"` // the clause, shortened
	Cue   string `json:"cue"`   // what in it recommends
	Weak  bool   `json:"weak"`  // it proposes, and does not recommend
}

// CheckForm gives the pieces of an answer that a form does not allow: under
// EvidenceOnly whatever recommends or proposes, under Refer whatever recommends, under Recommend
// nothing. It reads English and Chinese by rules; the same answer gives the same
// findings. What users, platforms or brands advise is evidence, as is what was recommended
// earlier. An unknown form is taken for EvidenceOnly.
func CheckForm(f Form, answer string) []FormFinding {
	if f == Recommend {
		return nil
	}
	if len(answer) > MaxFormBytes {
		return []FormFinding{{Words: cutText(oneLine(answer), maxToldBytes), Cue: "too long to be checked"}}
	}
	var found []FormFinding
	for _, clause := range formClauses(answer) {
		cue, weak := advises(clause)
		if cue == "" || weak && f == Refer {
			continue
		}
		found = append(found, FormFinding{Words: cutText(strings.TrimSpace(clause), maxToldBytes), Cue: cue, Weak: weak})
		if len(found) == maxFormFindings {
			break
		}
	}
	return found
}

// formClauses gives the clauses of an answer, folded, in lower case, without what is
// quoted as somebody's words.
func formClauses(answer string) []string {
	text := withoutCited(foldForm(answer))
	return strings.FieldsFunc(spaceDots(text), func(r rune) bool {
		return strings.ContainsRune("\n\x00,;!，；。！、…()（）", r)
	})
}

// spaceDots marks the ends of English sentences, and leaves the dots of numbers.
func spaceDots(text string) string {
	text = strings.NewReplacer(". ", "\x00", ".\n", "\x00", " - ", "\x00", " – ", "\x00", " — ", "\x00", "——", "\x00").Replace(text + "\n")
	b := []byte(text)
	for i, c := range b {
		if c == ',' && i > 0 && i+1 < len(b) && isDigit(b[i-1]) && isDigit(b[i+1]) {
			b[i] = '\''
		}
	}
	return string(b)
}

// foldForm brings an answer to plain lower case: full-width letters, emphasis and
// characters that nobody sees may not hide a word.
func foldForm(answer string) string {
	lines := strings.Split(answer, "\n")
	for i, line := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			switch {
			case r >= 0xFF21 && r <= 0xFF5A || r >= 0xFF10 && r <= 0xFF19: // letters and digits
				return r - 0xFF01 + '!'
			case r == '’' || r == '‘':
				return '\''
			case r == '*' || r == '_' || r == '`':
				return -1
			}
			return r
		}, oneLine(line))
	}
	return strings.ToLower(strings.Join(lines, "\n"))
}

// withoutCited blanks the quotations that an answer gives as somebody's words, and
// leaves others: a recommendation in quotation marks is one.
func withoutCited(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		at := strings.IndexAny(text, "“「『\"")
		if at < 0 {
			break
		}
		open, size := utf8.DecodeRuneInString(text[at:])
		length := strings.IndexRune(text[at+size:], quoteEnd(open))
		if length < 0 {
			break
		}
		end := at + size + length + utf8.RuneLen(quoteEnd(open))
		b.WriteString(text[:at])
		if cites(text[:at]) {
			b.WriteString(" … ")
		} else {
			b.WriteString(text[at:end])
		}
		text = text[end:]
	}
	return b.String() + text
}

// cites reports whether the words just before a quotation give it as somebody's.
func cites(before string) bool {
	if at := strings.LastIndexAny(before, "\n。.!！?？;；"); at >= 0 {
		before = before[at:]
	}
	return containsAny(before, "您说", "你说", "说过", "提到", "原话", "您在", "你在", "记录", "写道", "规定", "要求", "评论", "反馈", "声明", "标题", "问") && !containsAny(before, "我说", "我的") ||
		hasWord(before, "you said", "you told", "you wrote", "your words", "you asked", "said", "wrote", "record", "records", "titled", "rule", "comment", "commented", "declared", "memory") && !hasWord(before, "i said", "my record")
}

// advises tells what in a clause recommends or proposes, if anything does.
func advises(clause string) (cue string, weak bool) {
	clause = strings.TrimSpace(strings.TrimLeft(clause, " -•·#>0123456789.)）"))
	clause = notAdvice.Replace(clause)
	for _, find := range [...]func(string) (string, bool){strongZH, strongEN, imperativeZH, imperativeEN} {
		if cue, ok := find(clause); ok {
			return cue, false
		}
	}
	for _, find := range [...]func(string) (string, bool){weakZH, weakEN} {
		if cue, ok := find(clause); ok {
			return cue, true
		}
	}
	return "", false
}

// notAdvice takes out words that hold a cue and recommend nothing.
var notAdvice = strings.NewReplacer(
	"建议零售价", "", "建议售价", "", "建议价", "", "推荐流量", "", "推荐流", "", "推荐页", "", "推荐位", "", "推荐算法", "", "推荐系统", "", "推荐率", "", "推荐次数", "", "自然推荐", "", "被推荐", "", "推荐渠道", "",
	"应该是", "", "应该会", "", "应该已", "", "应该还", "", "应该没", "", "应该不会", "", "应该有", "", "最好的", "", "最好成绩", "", "效果最好", "", "表现最好", "", "卖得最好", "", "转化最好", "", "数据最好", "", "最好看", "", "最好卖", "",
	"值得注意", "", "优先级", "", "应该如何", "", "不得不", "", "值得一提", "",
	"suggested retail price", "", "recommended retail price", "", "recommendation feed", "", "recommendation traffic", "", "recommendation engine", "", "recommended feed", "", "recommended traffic", "", "must-have", "", "should arrive", "", "should have arrived", "", "should still be", "", "should show", "", "should appear", "",
	"suggestion box", "", "best seller", "", "best-selling", "", "go live", "", "must-see", "",
)

// strongZH finds Chinese words that recommend.
func strongZH(clause string) (string, bool) {
	for _, cue := range [...]string{"建议", "推荐", "应该", "应当", "最好", "务必", "必须", "首选", "优先", "值得", "赶紧", "尽快", "不如", "一定要", "我会选", "我会把", "我会先", "我会用", "我的看法是", "我的意见是", "我倾向", "我主张", "千万别", "千万不要", "没必要", "有必要", "得把", "理应", "应先", "应把", "应尽", "应予", "须先", "才是今晚", "才是最", "照这个来", "请安排", "请执行", "请控制", "请采用", "请改", "请降", "请提高", "请保持", "请停", "该降", "该涨", "该换", "该上", "该停", "需要把", "需要降", "需要提高", "需要缩短", "要把", "更适合您", "更适合你"} {
		at := strings.Index(clause, cue)
		if at < 0 || exemptZH(clause[:at], clause[at+len(cue):], cue) {
			continue
		}
		return cue, true
	}
	if strings.HasSuffix(clause, "吧") && containsAny(clause, "降", "涨", "改", "换", "上", "下", "选", "用", "加", "减", "讲", "停", "推", "做", "定", "调", "发", "放", "保持") && !containsAny(clause, "大概", "可能", "您看", "你看", "您定", "您决定", "告诉我") {
		return "…吧", true
	}
	return "", false
}

// exemptZH reports whether a Chinese cue stands in a clause that recommends nothing:
// it is refused, told of the past, somebody else's, a rule, or the user is asked for it.
func exemptZH(before, after, cue string) bool {
	if containsAny(before, "不能", "无法", "不会", "不做", "不给", "没有", "不足以", "不构成", "不便", "不提供", "暂不", "不是", "难以", "未", "不敢", "不作", "不含", "是否", "拒绝", "采纳", "否决", "接受", "仅", "要我", "需要我", "希望我", "让我", "想听", "无") {
		return true
	}
	if containsAny(before, "上次", "之前", "曾", "当时", "上一场", "过去", "昨天", "上周", "以前", "上个月", "历史") {
		return true
	}
	advice := cue == "建议" || cue == "推荐"
	for _, who := range [...]string{"粉丝", "观众", "用户", "买家", "品牌方", "平台", "老板", "运营", "您的", "你的", "他们", "主管", "顾客", "厂家", "供应商", "同行"} {
		if advice && strings.Contains(before, who) {
			return true
		}
	}
	if !advice && containsAny(before, "您说", "你说", "说过", "提到", "规定", "规则", "要求", "认为", "觉得", "约束", "法", "条款", "设定", "写明", "标注", "评论说") && !containsAny(before, "我认为", "我觉得", "方法", "办法", "我说") {
		return true
	}
	return advice && startsAny(after, "由您", "由你", "的是否", "采纳率", "次数", "记录", "被采纳", "被拒", "过") || cue == "值得" && startsAny(after, "的") || cue == "最好" && (after == "" || containsAny(before, "得", "效果", "表现", "成绩")) || cue == "优先" && startsAny(after, "展示", "曝光")
}

// weakZH finds Chinese words that propose.
func weakZH(clause string) (string, bool) {
	for _, cue := range [...]string{"考虑", "不妨", "试试", "试一下", "尝试", "要不要", "要不", "何不", "供您参考", "供参考", "可参考", "可以参考", "作为参考", "或许可以", "也许可以", "也可以", "可以先", "可以把", "可以将", "可以降", "可以涨", "可以换", "可以用", "可以选", "可以缩短", "可以提高", "可以延长", "可以加", "可以减", "可以改", "可以在", "可以从", "您可以", "你可以", "比较合适", "更合适", "会更好", "会好一些", "会好些", "比较好", "更划算", "更稳妥", "是一个备选", "可能是备选", "作为备选", "有没有想过", "值得一试", "更好的选择", "怎么样"} {
		at := strings.Index(clause, cue)
		if at < 0 || exemptZH(clause[:at], clause[at+len(cue):], cue) || containsAny(clause[at:], "考虑到", "考虑过", "试试过", "尝试过", "尝试了") || containsAny(clause, "可以看到", "可以看出", "可以查到", "可以查看") {
			continue
		}
		return cue, true
	}
	return "", false
}

// imperativeZH finds a Chinese clause that tells the user what to do. What is told
// of lives that were has words of the past in it.
func imperativeZH(clause string) (string, bool) {
	rest := clause
	if startsAny(rest, "别再", "不要再", "不用再", "别用", "取消它", "去掉它", "停掉", "放弃它", "保留它") {
		return rest[:len("别再")], true
	}
	if asked, ok := strings.CutPrefix(rest, "请"); ok && !startsAny(asked, "您决定", "您确认", "您定", "您告", "您选", "你决定", "确认", "告诉", "告知", "补充", "提供", "查看", "说明", "问", "稍", "注意", "参阅", "见", "以", "核实", "回复", "选择") {
		return "请…", true
	}
	for _, lead := range [...]string{"结论：", "结论:", "方案：", "方案:", "答案：", "那就", "所以", "因此", "直接", "现在", "立即", "马上", "接下来", "就", "先", "再", "下一场", "今晚", "明天", "这场", "本场", "开场", "下次"} {
		rest = strings.TrimPrefix(rest, lead)
	}
	if startsAny(rest, "把", "将") && !tellsOfLives(rest) && containsAny(rest, "到", "成", "为", "提高", "降低", "缩短", "延长", "下调", "上调", "换", "放", "停", "去掉", "加上") {
		return "把…", true
	}
	if tellsOfLives(rest) || containsAny(rest, "后", "率", "的", "两场", "三场", "几场", "为", "是", "次", "过", "时", "均", "有", "占", "您决定", "由您", "告诉我", "补充", "提供", "确认", "查看", "：", ":", "?", "？", "低于", "高于") {
		return "", false
	}
	for _, verb := range [...]string{"降价", "涨价", "提价", "降到", "涨到", "选", "用", "换", "讲", "缩短", "延长", "减少", "增加", "停用", "停播", "下架", "上架", "主推", "主打", "保持", "避免", "不要", "别", "改用", "改成", "调到", "上", "推", "发", "加", "砍", "取消", "去掉", "安排", "补货", "提前", "推迟", "加播", "放弃", "坚持", "执行", "照"} {
		if strings.HasPrefix(rest, verb) && utf8.RuneCountInString(rest) > utf8.RuneCountInString(verb)+1 && !startsAny(rest, "用户", "上周", "上月", "上一", "上述", "上次", "推荐", "推流", "发货", "发现", "加购", "选品", "讲解", "上播", "下播", "换货", "用时", "发生", "上面", "以上", "别人", "上新") {
			return verb + "…", true
		}
	}
	return "", false
}

// tellsOfLives reports whether a clause is about lives that were, as "把开场缩短到 8
// 分钟的两场" is.
func tellsOfLives(clause string) bool {
	if containsAny(clause, "了", "之后", "后的", "率", "过", "场次", "场均", "的场") {
		return true
	}
	at := strings.LastIndex(clause, "的")
	return at >= 0 && strings.HasSuffix(clause, "场") && utf8.RuneCountInString(clause[at:]) <= 4
}

// strongEN finds English words that recommend.
func strongEN(clause string) (string, bool) {
	for _, cue := range [...]string{"recommend", "recommends", "recommended", "recommendation", "recommending", "i suggest", "we suggest", "i'd suggest", "would suggest", "my suggestion", "suggest you", "suggest that you", "suggestion", "suggested", "advise", "advice", "i'd advise", "my advice", "should", "shouldn't", "ought to", "had better", "you'd better",
		"you must", "must", "you need to", "we need to", "you have to", "best to", "best option", "best choice", "best bet", "best move", "go with", "go for", "opt for", "stick with", "stick to", "better to", "better off", "right move", "right choice", "right price", "make sure", "be sure to", "i would", "i'd", "let's", "worth doing", "worth lowering", "worth raising", "no need to", "it is time to", "it's time to", "deserves", "deserve", "thing to do is", "smart move", "smart choice", "wise to", "wiser to", "pays to", "time to", "so do that", "do that", "definitely", "my pick", "the way to go", "the answer is to"} {
		at := wordAt(clause, cue)
		if at < 0 || exemptEN(clause[:at], clause[at+len(cue):], cue) {
			continue
		}
		return cue, true
	}
	for _, verb := range [...]string{"suggest", "suggests"} { // "the data suggest lowering it", not "that it fell"
		if at := wordAt(clause, verb); at >= 0 {
			next, _, _ := strings.Cut(strings.TrimSpace(clause[at+len(verb):]), " ")
			if strings.HasSuffix(next, "ing") && !exemptEN(clause[:at], "", verb) {
				return verb, true
			}
		}
	}
	return "", false
}

// exemptEN is exemptZH for English.
func exemptEN(before, after, cue string) bool {
	if hasWord(before, "cannot", "can't", "could not", "couldn't", "unable", "no", "not a", "not enough", "too little", "without", "too early", "rather than", "instead of", "insufficient", "won't", "will not", "neither", "nor", "never", "whether", "refrain", "do you want me", "would you like me", "would you like a", "want a", "like a") {
		return true
	}
	if hasWord(before, "last time", "earlier", "previously", "last week", "last month", "last live", "in the past", "at the time", "yesterday", "used to", "was", "were", "had been") || hasWord(after, "last time", "earlier", "previously", "last week", "yesterday", "by the brand", "by the platform") {
		return true
	}
	if hasWord(before, "you said", "you told", "you wrote", "you noted", "you asked", "said", "told", "wrote", "says", "asks", "asked", "mentioned", "rule", "rules", "policy", "platform", "platform's", "law", "requires", "constraint", "constraints", "brand", "brand's", "supplier", "viewers", "viewer", "customers", "customer", "fans", "contract") {
		return true
	}
	switch cue {
	case "recommended", "suggested", "recommendation", "suggestion", "advice":
		return strings.HasSuffix(before, "your ") || hasWord(before, "rejected", "adopted", "accepted", "followed", "against", "ignored", "refused") || hasWord(after, "was", "were", "adopted", "rejected", "count") && !hasWord(before, "is", "my", "the")
	case "i would", "i'd":
		return hasWord(after, "need", "like to know", "not", "be able", "have to", "require") && !hasWord(after, "not lower", "not raise", "not go")
	case "definitely":
		return true // alone it recommends nothing
	}
	return false
}

// weakEN finds English words that propose.
func weakEN(clause string) (string, bool) {
	for _, cue := range [...]string{"consider", "considering", "you could", "you might", "you may want", "you can try", "might be worth", "may be worth", "worth a try", "worth trying", "worth testing", "worth considering", "how about", "what about", "why not", "perhaps try", "maybe try", "try", "one option", "an option", "another option", "could try", "we could", "it could help", "may help", "might help", "for reference", "feel free to", "would be better", "might be better", "might work", "could work", "would work", "might want to", "have you thought", "have you considered", "could be an", "might be an", "may be an", "an alternative", "alternatively", "could tell", "if you want"} {
		at := wordAt(clause, cue)
		if at < 0 || exemptEN(clause[:at], clause[at+len(cue):], cue) || (cue == "consider" || cue == "considering" || cue == "try") && hasWord(clause[:at], "did", "didn't", "does", "first", "second", "every", "each") || cue == "considering" && !hasWord(clause[:at], "worth", "be") {
			continue
		}
		return cue, true
	}
	return "", false
}

// imperativeEN finds an English clause that tells the user what to do: it begins
// with a verb and goes on as an order does.
func imperativeEN(clause string) (string, bool) {
	words := strings.Fields(strings.Trim(clause, `"“”'`))
	if len(words) > 1 && (words[0] == "please" && !slices.Contains([]string{"confirm", "tell", "let", "decide", "say", "note", "see", "provide", "check", "specify", "choose"}, words[1]) || words[0] == "never" && !hasWord(clause, "was", "were", "is", "had")) {
		return words[0] + " …", true
	}
	for len(words) > 0 && slices.Contains([]string{"then", "so", "please", "just", "first", "next", "instead", "therefore", "and", "or", "simply", "tonight", "conclusion:", "answer:", "now", "also", "don't", "do", "not"}, words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		return "", false
	}
	verbs := []string{"lower", "raise", "set", "cut", "drop", "increase", "reduce", "use", "start", "open", "switch", "push", "choose", "pick", "keep", "move", "put", "add", "remove", "run", "launch", "schedule", "avoid", "skip", "stop", "offer", "give", "go", "shorten", "extend", "change", "price", "discount", "bundle", "replace", "focus", "test", "hold", "delay", "sell", "pin", "restock", "deal", "send", "cancel", "wait", "plan", "lead", "begin", "end", "swap", "promote", "feature"}
	follow := []string{"the", "a", "an", "your", "it", "them", "this", "that", "to", "with", "down", "up", "back", "at", "for", "on", "by", "all", "more", "fewer", "less", "sku", "product", "prices", "price", "coupons", "from", "only", "both", "off", "ahead", "each", "every", "now", "giving", "using", "discounts"}
	if !slices.Contains(verbs, words[0]) {
		return "", false
	}
	next := strings.Trim(words[1], `.:"`)
	if slices.Contains(follow, next) && !strings.HasSuffix(words[1], ":") || next != "" && isDigit(next[0]) && words[0] != "end" && !hasWord(clause, "was", "were", "had", "fell", "rose", "has", "are", "is", "%") {
		return words[0] + " …", true
	}
	return "", false
}

// The parts that a recommendation comes with.
const (
	PartCounter     = "counter-example"
	PartAlternative = "alternative"
	PartConfidence  = "confidence"
)

// MissingParts gives the parts that an answer of the form Recommend lacks, if it
// recommends at all. It looks for the words that introduce them, so it is a reminder for
// the model and no ground to withhold an answer.
func MissingParts(answer string) []string {
	if len(answer) > MaxFormBytes || len(CheckForm(Refer, answer)) == 0 {
		return nil
	}
	low := foldForm(answer)
	var missing []string
	for _, part := range [...]struct {
		name string
		is   bool
	}{
		{PartCounter, containsAny(low, "反例", "例外", "但也有", "相反", "不利") || hasWord(low, "counter-example", "counterexample", "exception", "however", "on the other hand", "against it")},
		{PartAlternative, containsAny(low, "备选", "替代", "另一", "或者", "其他方案") || hasWord(low, "alternative", "alternatively", "otherwise", "another option")},
		{PartConfidence, containsAny(low, "置信", "把握", "可信度") || hasWord(low, "confidence", "confident", "sure")},
	} {
		if !part.is {
			missing = append(missing, part.name)
		}
	}
	return missing
}
