package memory

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/host"
)

// A Message is what a user said, with where it was said.
type Message struct {
	Tenant  host.TenantID
	User    host.UserID
	Session host.SessionID
	Live    host.LiveID
	Input   host.InputID
	Text    string
	At      time.Time
}

// Bounds of listening.
const (
	MaxHeardBytes   = 16 << 10 // of one message; what is beyond them is not heard
	MaxDeclarations = 16       // of one message: nobody declares more in one breath
)

// DeclaredTrust is how far the user's own words are believed at first: behaviour can
// add to it.
const DeclaredTrust = 0.8

// Listen gives what a user declares in a message (L1), by rules, in Chinese and
// English: likes and dislikes, what must and must not be, standing orders, what is
// to be remembered, and feedback. Each text is a piece of the message, word for
// word. What is asked, quoted, supposed, somebody else's, or for the moment only is
// not declared. Nodes have no ID yet.
func Listen(m Message) []Node {
	text := cutBytes(m.Text, MaxHeardBytes)
	subjects := Subjects()
	var heard []Node
	for _, s := range sentences(text) {
		if !declarable(s) {
			continue
		}
		for _, d := range declarations(s, subjects) {
			if len(heard) == MaxDeclarations {
				return heard
			}
			start, end := s.start+d.start, s.start+d.end
			heard = append(heard, m.declared(text[start:end], s.low[d.start:d.end], d.kind, subjects))
		}
	}
	return heard
}

// maxBefore bounds the words of a message that are searched with a declaration of it. A
// longer beginning is left out whole: a part of it might be a part of another memory,
// which nobody would find there when that one is forgotten.
const maxBefore = 1 << 10

// Indexed gives a declaration of a message with the text that it is found by: what the
// user said before in the same message, who speaks, the date, and its own words. Its place
// in the session is that of the message.
func (m Message) Indexed(n Node) Node {
	n.Source.Speaker = UserSpeaks
	n.Source.Order, _ = strconv.ParseInt(string(m.Input), 10, 64) // of no number: it has no place
	before, _, found := strings.Cut(cutBytes(m.Text, MaxHeardBytes), n.Text)
	if !found || len(before) > maxBefore {
		before = ""
	}
	n.IndexText = TurnText(strings.TrimSpace(before), UserSpeaks, m.At, n.Text)
	if len(n.IndexText) > MaxTextBytes {
		n.IndexText = ""
	}
	return n
}

// cutBytes cuts a text at a character.
func cutBytes(text string, most int) string {
	cut := cutText(text, most)
	if len(text) > most {
		return strings.TrimSuffix(cut, "…")
	}
	return cut
}

// declared makes the node of a declaration.
func (m Message) declared(text, low string, kind Kind, subjects []Subject) Node {
	claim, subject := claimOfWords(low, subjects)
	return Node{Tenant: m.Tenant, User: m.User, Text: text, Layer: Declared, Kind: kind, Entity: entityIn(low), Domain: subject.Domain,
		Scene: sceneIn(low), Claim: claim, Source: Source{Session: m.Session, Live: m.Live, Input: m.Input},
		At: m.At, Valid: Span{From: m.At}, Known: Span{From: m.At}, Freshness: Slow, Trust: DeclaredTrust, Status: Active}
}

// declarable refuses a sentence that is no declaration of the user's.
func declarable(s sentence) bool {
	switch {
	case s.question, s.pasted, othersSpeak(s.low), forNow(s.low):
		return false
	}
	// "From now on, if they ask ..." is a rule, and "if from now on ..." is none.
	supposed, lasting := supposedAt(s.low), lastingAt(s.low)
	return supposed < 0 || lasting >= 0 && lasting < supposed
}

// supposes reports whether a sentence is hypothetical.
func supposes(low string) bool { return supposedAt(low) >= 0 }

// supposedAt gives where a sentence begins to be hypothetical, or -1.
func supposedAt(low string) int {
	return firstAt(low, []string{"如果", "要是", "假如", "假设", "倘若", "万一", "比如", "比方", "例如", "也许", "可能会", "说不定"},
		[]string{"if", "suppose", "supposing", "imagine", "hypothetically", "for example", "for instance", "e.g", "maybe",
			"perhaps", "might", "would", "let's say", "say we", "assuming"})
}

// firstAt gives where the first of some Chinese words and of some English ones
// stands, or -1.
func firstAt(low string, chinese, english []string) int {
	first := -1
	nearer := func(at int) {
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	for _, w := range chinese {
		nearer(strings.Index(low, w))
	}
	for _, w := range english {
		nearer(wordAt(low, w))
	}
	return first
}

// othersSpeak reports whether a sentence gives somebody else's words or wishes.
func othersSpeak(low string) bool {
	plain := notPeople.Replace(low)
	for _, who := range [...]string{"他", "她", "老板", "粉丝", "观众", "客户", "顾客", "买家", "同事", "运营", "别人", "有人",
		"人家", "对手", "竞品", "平台", "主管", "品牌方", "商家", "大家", "老公", "老婆", "朋友", "妈", "爸", "孩子", "助理"} {
		if at := strings.Index(plain, who); at >= 0 && speaksSoon(plain[at+len(who):]) {
			return true
		}
	}
	if containsAny(low, "据说", "听说", "网上说", "书上说", "文章说", "有句话", "写着", "写道", "上写", "网页", "页面上",
		"文档里", "文件里", "邮件里", "消息里", "弹幕") {
		return true
	}
	for _, who := range [...]string{"he", "she", "they", "boss", "manager", "viewers", "viewer", "customers", "customer",
		"fans", "someone", "somebody", "people", "everyone", "everybody", "competitor", "competitors", "colleague",
		"colleagues", "client", "clients", "brand", "platform", "wife", "husband", "friend", "friends", "mother", "father",
		"assistant", "article", "page", "document"} {
		for _, does := range [...]string{"say", "says", "said", "like", "likes", "want", "wants", "wanted", "think", "thinks",
			"thought", "prefer", "prefers", "told", "tells", "claim", "claims", "wrote", "hate", "hates", "love", "loves",
			"always", "never", "really like", "usually"} {
			if wordAt(low, who+" "+does) >= 0 {
				return true
			}
		}
	}
	return hasWord(low, "according to", "i heard", "i read", "rumour has it")
}

// notPeople takes out words that hold the name of somebody and name nobody.
var notPeople = removing(
	"其他", "吉他", "维他", "平台规则",
)

// speaksSoon reports whether a Chinese verb of speech, wish or habit begins within
// the next four characters of a clause.
func speaksSoon(rest string) bool {
	rest, _, _ = strings.Cut(strings.ReplaceAll(rest, "，", ","), ",")
	for range 5 {
		if startsAny(rest, "说", "觉得", "喜欢", "要求", "认为", "希望", "告诉", "想", "让我", "建议", "反馈", "习惯", "不要", "规定", "每次", "从来", "总是") {
			return true
		}
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
	}
	return false
}

// forNow reports whether a sentence is about the moment: an order, and no memory.
func forNow(low string) bool {
	if containsAny(low, "昨天", "上一场", "前天") && !containsAny(low, "以后", "下次", "今后", "太") {
		return true // it tells of what was
	}
	if stands(low) {
		return false
	}
	return containsAny(low, "这次", "这一次", "今天", "今晚", "明天", "现在", "刚才不是", "先不", "先别", "暂时", "等会",
		"等一下", "待会", "马上", "这会儿", "不要了", "不用了", "算了", "别急", "别担心", "不要紧", "这条", "这一步", "帮我") ||
		hasWord(low, "this time", "today", "tonight", "tomorrow", "right now", "for now", "just now", "yet", "at the moment",
			"don't worry", "never mind", "don't know", "don't think", "don't understand", "don't mind", "don't remember",
			"don't need", "not sure", "this one", "that one", "undo", "please help")
}

// stands reports whether a sentence is meant to last.
func stands(low string) bool { return lastingAt(low) >= 0 }

// lastingAt gives where a sentence says that it is meant to last, or -1.
func lastingAt(low string) int {
	return firstAt(low, []string{"以后", "今后", "往后", "从现在开始", "从现在起", "从今天起", "从今天开始", "从今以后", "从今",
		"每次", "每场", "每回", "每天", "每晚", "永远", "始终", "总是", "一律", "一直", "任何时候", "无论", "不管", "绝不",
		"绝对不", "记住", "记下", "记一下", "长期", "凡是", "每个品", "每款", "每个商品", "从来不"},
		[]string{"from now on", "going forward", "in future", "in the future", "from today", "every time", "each time",
			"every live", "each live", "every session", "always", "never", "remember", "whenever", "at all times",
			"under no circumstances", "as a rule", "by default", "henceforth", "keep in mind", "take note", "note that"})
}

// A declaration is a piece of a sentence, in bytes of it.
type declaration struct {
	start, end int
	kind       Kind
}

// declarations parts a sentence into what it declares: a clause that declares
// something, with those after it that declare nothing of their own. A rule with a
// condition is one.
func declarations(s sentence, subjects []Subject) []declaration {
	var found []declaration
	lasting, lead := false, -1
	parts := clauses(s.low)
	for i, c := range parts {
		clause := s.low[c.start:c.end]
		if isLead(clause) {
			lasting, lead = true, c.start
			continue
		}
		lasting = lasting || stands(clause)
		kind, ok := kindOf(clause, lasting && len(found) > 0, subjects)
		if !ok && lead >= 0 && !tooShort(clause) && !complains(clause) && !supposes(clause) {
			kind, ok = Preference, true
		}
		switch {
		case ok:
			c.kind = kind
			switch {
			case lead >= 0:
				c.start = lead
			case len(found) == 0 && i > 0 && !names(clause, subjects): // "回答简短一点，以后都用表格" is about what was said before it
				c.start = parts[i-1].start
			}
			found, lead = append(found, c), -1
		case len(found) > 0:
			found[len(found)-1].end = c.end
		}
	}
	if len(found) > 1 && supposes(s.low) {
		found = whole(found)
	}
	return found
}

// whole joins declarations into one of the strongest kind.
func whole(found []declaration) []declaration {
	all := declaration{found[0].start, found[len(found)-1].end, found[0].kind}
	for _, d := range found {
		if d.kind == Constraint {
			all.kind = Constraint
		}
	}
	return []declaration{all}
}

// isLead reports whether a clause says only that what follows is meant to last.
func isLead(clause string) bool {
	return slices.Contains([]string{"以后", "今后", "往后", "从现在开始", "从现在起", "从今天起", "从今天开始", "从今以后", "记住", "请记住", "记一下",
		"from now on", "going forward", "in future", "in the future", "from today", "remember", "please remember",
		"keep in mind", "as a rule", "henceforth"}, clause)
}

// clauses parts a sentence at commas that do not stand in a number.
func clauses(low string) []declaration {
	var parts []declaration
	start := 0
	for i, r := range low {
		if r == '，' || r == ',' && !(i > 0 && isDigit(low[i-1]) && i+1 < len(low) && isDigit(low[i+1])) {
			parts = append(parts, trimClause(low, start, i))
			start = i + len(string(r))
		}
	}
	return append(parts, trimClause(low, start, len(low)))
}

func trimClause(low string, start, end int) declaration {
	s := trimmed(low, start, end)
	return declaration{start: s.start, end: s.end}
}

// kindOf tells what kind of declaration a clause is, if it is one. In a sentence
// that was begun as a standing order, a clause that forbids or sets a limit continues it.
func kindOf(low string, continues bool, subjects []Subject) (Kind, bool) {
	switch {
	case tooShort(low) || complains(low):
		return "", false
	case forbids(low) || requires(low) || limits(low) && names(low, subjects):
		return Constraint, true
	case likes(low):
		return Preference, true
	case remembers(low):
		return FactOf, true
	case judges(low):
		return Feedback, true
	case stands(low) || continues && orders(low):
		return Preference, true
	}
	return "", false
}

// tooShort: "不要", "never" alone say nothing that could be remembered.
func tooShort(low string) bool {
	return len([]rune(low)) < 4 || !hasHan(low) && len(strings.Fields(low)) < 3
}

// complains: what happens every time is no order.
func complains(low string) bool {
	for _, adverb := range [...]string{"always", "never"} { // "always started late" tells, and orders nothing
		if at := wordAt(low, adverb); at >= 0 {
			next, _, _ := strings.Cut(strings.TrimSpace(low[at+len(adverb):]), " ")
			if strings.HasSuffix(next, "ed") && next != "need" {
				return true
			}
		}
	}
	return containsAny(low, "掉人", "流失", "老是", "总会", "都会掉", "卡顿", "报错", "崩溃", "又忘", "是这样的", "都这样", "都很忙", "一直在", "一直没") ||
		startsWord(low, "it never", "it always", "there is never", "never mind", "ok never mind") || hasWord(low, "never mind",
		"every time it", "always crashes", "always fails", "never works", "never worked", "keeps failing", "always happens",
		"never happened", "never saw", "i never said", "i never knew", "i have never", "i've never", "has always been",
		"have always been")
}

func forbids(low string) bool {
	if containsAny(low, "不喜欢", "不太喜欢", "不爱", "不习惯") {
		return false
	}
	plain := notDenials.Replace(low)
	for _, cue := range [...]string{"不要", "别", "不许", "不准", "不能", "不得", "不可以", "禁止", "严禁", "千万", "绝不", "绝对不", "永远不", "勿"} {
		if at := strings.Index(plain, cue); at >= 0 && ownOrder(plain[:at]) {
			return true
		}
	}
	return hasWord(low, "never", "don't ever", "must not", "mustn't", "no more", "under no circumstances",
		"not allowed") && !startsWord(low, "i never", "it never", "we never") ||
		startsWord(low, "don't", "do not", "please don't", "please do not", "from now on don't", "avoid", "stop", "no longer")
}

// ownOrder reports whether what stands before an order leaves it one: nothing, who
// or what it is for, or when it holds.
func ownOrder(before string) bool {
	return !containsAny(before, "我也", "是", "有", "就", "会", "说", "因为", "还", "发现", "知道")
}

func requires(low string) bool {
	return containsAny(low, "必须", "务必", "一定要", "不得不", "一律") && !strings.HasPrefix(low, "我必须") ||
		hasWord(low, "must", "have to always", "make sure", "at all times", "is mandatory",
			"are mandatory") && !startsWord(low, "i must", "we must have", "it must be", "there must")
}

func limits(low string) bool {
	return len(numerals(low)) > 0 && (containsAny(low, "不低于", "不超过", "不高于", "不少于", "至少", "最多", "底价", "最低", "起码", "顶多", "以内") ||
		hasWord(low, "at least", "at most", "no more than", "no less than", "not below", "not above", "minimum", "maximum", "not exceed"))
}

func likes(low string) bool {
	if at := strings.Index(low, "我"); at >= 0 && !strings.HasPrefix(low[at:], "我们的") {
		rest := low[at:]
		if containsAny(rest, "喜欢", "偏好", "偏爱", "习惯", "爱用", "讨厌", "受不了", "不爱") {
			return true
		}
	}
	for _, cue := range [...]string{"like", "love", "prefer", "enjoy", "hate", "dislike", "favor", "favour", "don't like", "do not like", "can't stand"} {
		if at := wordAt(low, cue); at >= 0 && mine(low[:at]) {
			return true
		}
	}
	return hasWord(low, "i'd rather", "my preference is", "my favourite", "my favorite", "i usually", "i always", "i tend to", "we always")
}

// mine reports whether "I", with adverbs, stands just before.
func mine(before string) bool {
	words := strings.Fields(before)
	for i := len(words) - 1; i >= 0 && i >= len(words)-4; i-- {
		switch words[i] {
		case "i", "we":
			return true
		case "really", "usually", "always", "generally", "do", "don't", "don’t", "not", "also", "much", "strongly", "just", "still", "personally", "cannot":
		default:
			return false
		}
	}
	return false
}

func remembers(low string) bool {
	at := strings.Index(low, "记得")
	return containsAny(low, "记住", "记下", "记一下", "帮我记", "你要记") || at >= 0 && at <= len("请你要") ||
		startsAny(low, "我叫", "我是做", "我们店", "我的店", "我的品牌", "我家主营", "我们主营") ||
		startsWord(low, "my name is", "my shop is", "my brand is", "our shop is", "our brand is", "we sell", "remember",
			"please remember", "keep in mind", "please keep in mind", "note that", "please note", "for the record",
			"you should know", "take note") && !startsWord(low, "remember when", "remember how", "remember me")
}

func judges(low string) bool {
	about := containsAny(low, "你", "刚才", "上次", "上一场", "昨天", "回答", "开场", "话术", "讲解",
		"节奏") || hasWord(low, "you", "your", "last time", "last live", "that answer", "the opening", "the script", "the pace")
	verdict := strings.Contains(low, "太") && containsAny(low, "了", "太长", "太短", "太快",
		"太慢") || containsAny(low, "讲得很好", "做得很好", "讲得不好", "不够好", "很满意", "不满意", "效果很好", "效果不好",
		"答非所问") ||
		hasWord(low, "too long", "too short", "too fast", "too slow", "too much", "too many", "was great", "was good",
			"was bad", "was useless", "well done", "not helpful", "was wrong")
	return about && verdict
}

// orders reports whether a clause is an order that goes on with one before it.
func orders(low string) bool {
	return startsAny(low, "要", "先", "再", "用", "讲", "也", "都", "并且", "而且", "and", "also", "then")
}

func startsWord(low string, phrases ...string) bool {
	for _, p := range phrases {
		if wordAt(low, p) == 0 || strings.Contains(p, "'") && wordAt(low, strings.ReplaceAll(p, "'", "’")) == 0 {
			return true
		}
	}
	return false
}

// sceneIn gives the scene that words bind themselves to, or "" for every one.
func sceneIn(low string) string {
	switch {
	case containsAny(low, "直播", "开场", "开播", "讲品", "直播间", "每场") || hasWord(low, "live", "lives", "on air", "stream",
		"streams", "opening", "openings"):
		return "live"
	case containsAny(low, "选品", "备播", "排品", "策划", "播前") || hasWord(low, "planning", "plan", "preparing"):
		return "planning"
	case containsAny(low, "复盘", "播后", "下播") || hasWord(low, "review", "reviews", "post-live"):
		return "review"
	}
	return ""
}

// EntityIn gives what words are about, if they name a product by its number, and "" else.
func EntityIn(words string) string { return entityIn(simplified.Replace(asciiLower(words))) }

// entityIn gives the product that words are about: "SKU 1001", "商品1001", "1001号".
func entityIn(low string) string {
	for _, mark := range [...]string{"sku", "商品", "链接", "product", "item"} {
		at := strings.Index(low, mark)
		if at < 0 {
			continue
		}
		rest := strings.TrimLeft(low[at+len(mark):], " :：#号")
		end := 0
		for end < len(rest) && (isLatin(rest[end]) || isDigit(rest[end]) || rest[end] == '-') {
			end++
		}
		if id := strings.Trim(rest[:end], "-"); strings.ContainsAny(id, "0123456789") && len(id) <= MaxEntityBytes {
			return id
		}
	}
	at := strings.Index(low, "号")
	start := at
	for start > 0 && isDigit(low[start-1]) {
		start--
	}
	if at-start >= 3 {
		return low[start:at]
	}
	return ""
}
