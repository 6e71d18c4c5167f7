package memory

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// notAdviceZH takes out words that hold a cue and recommend nothing.
var notAdviceZH = removing(
	"建议零售价", "建议售价", "建议价", "推荐流量", "推荐流", "推荐页", "推荐位", "推荐算法", "推荐系统", "推荐率",
	"推荐次数", "推荐语", "推荐文案", "自然推荐", "被推荐", "推荐渠道", "应该是", "应该会", "应该已", "应该还", "应该没", "应该不会", "应该有",
	"最好成绩", "效果最好", "表现最好", "卖得最好", "转化最好", "数据最好", "最好看", "最好卖", "值得注意",
	"最优惠的", "最稳定的", "优先级", "应该如何", "不得不", "值得一提",
)

// strongZH finds Chinese words that recommend.
func strongZH(clause string) (string, bool) {
	for _, cue := range [...]string{"建议", "推荐", "应该", "应当", "最好", "务必", "必须", "首选", "上策", "优先", "值得",
		"赶紧", "尽快", "不如", "一定要", "我会选", "我会把", "我会先", "我会用", "我的看法是", "我的意见是", "我倾向", "我主张",
		"千万别", "千万不要", "没必要", "有必要", "用不着再", "不必再", "不用犹豫", "别犹豫", "不用再等", "当务之急", "最要紧的是",
		"得把", "理应", "应先", "应把", "应尽", "应予", "须先", "才是今晚", "才是最", "照这个来", "就这么办", "就这么定", "就对了",
		"准没错", "错不了", "请安排", "请执行", "请控制", "请采用", "请改", "请降", "请提高", "请保持", "请停", "该降", "该涨", "该换",
		"该上", "该停", "需要把", "需要降", "需要提高", "需要缩短", "要把", "更适合您", "更适合你", "答案是", "答案只有", "拍板",
		"可直接", "直接执行", "为宜", "您放心", "你放心", "稳妥的选择", "赢面", "胜算", "胜率最高", "势在必行", "就它了", "就这个了", "唯一不", "可以排除", "起卖", "推奨", "勧め", "お薦め"} {
		if recommends(clause, cue, strings.Index, exemptZH) {
			return cue, true
		}
	}
	if at := orderedZH.FindStringIndex(clause); at != nil && !saidZH(clause[:at[0]], "") && !toldOfZH.MatchString(clause[:at[0]]) {
		return clause[at[0]:at[1]], true
	}
	if found := movedZH.FindString(clause); found != "" && !pastZH.MatchString(clause) && !tellsOfLives(clause) && !openZH(clause) {
		return found, true
	}
	if strings.HasSuffix(clause, "吧") && containsAny(clause, "降", "涨", "改", "换", "上", "下", "选", "用", "加", "减", "讲",
		"停", "推", "做", "定", "调", "发", "放", "保持", "回", "卖", "开", "走", "按", "补", "撤", "先") && !containsAny(clause, "大概", "可能", "您看", "你看", "您定",
		"您决定", "告诉我") {
		return "…吧", true
	}
	return "", false
}

// orderedZH is an order inside of a clause: what is fit, what is not to be, and where the
// record points.
var orderedZH = regexp.MustCompile(`(?:^|[^便适事相合不认])(?:宜(?:定|降|涨|保|改|选|用|先|早|尽|停|将|把|采|卖))|不宜(?:定|降|涨|改|选|用|再|先|早|停|卖)|` +
	`(?:^|[^类级性区分个识差告鉴离辨派特])别(?:超过|低于|高于|再|用|动|降|涨|加|卖|讲|停|改|急|碰|拖|给|把)|` +
	`(?:^|[^获取赢觉值记显不])得(?:马上|立刻|立即|赶快|尽快|赶紧)|放心(?:改|降|卖|涨|用|上|定)|前先(?:发|放|上|讲|讲解|推)|指向(?:降|涨|提|保|换|停|改|[0-9])|` +
	`(?:定|降|涨|卖|补|改|加|减|按|就)[^的]{0,3}[0-9]+[^的]{0,3}(?:就行|就好|即可|就可以|足够|就够)$|` +
	`(?:价|价格|时间)(?:就)?(?:定在|定为|定到|设在|设为)[0-9]+点?[元块]?$|(?:可以|能)(?:停了|停掉|撤了|上了|改了|降了|下架了)`)

var (
	// movedZH moves something to where it is to be: "开场砍到8分钟", "挪到周五播", "把货补上".
	movedZH = regexp.MustCompile(`(?:砍|压|提|提前|调|挪|缩|缩短|移|拉|换|改)(?:到|至|成)(?:第?[0-9]|周|星期|最|前|后半|买|开场|晚)|把[^的了]{1,6}(?:补上|停掉|停了|撤下|换掉|去掉|下架)$`)
	// pastZH tells that it was so, or who says it.
	pastZH = regexp.MustCompile(`了|过|从|由|被|已|曾|后来|之后|时|那|均|率|当|原|前一|上[一次周月场]|昨|月|日|号|：[0-9]|次|` + advisersZH + `|您|你`)
)

// toldOfZH is an adviser, and the verb for what follows.
var toldOfZH = regexp.MustCompile("(?:" + advisersZH + ")[^我]{0,6}(?:建议|推荐|要求|说|规定|通知)[^我]{0,12}$")

// exemptZH reports whether what stands right beside a Chinese cue lets it off: it is
// refused, told of the past, somebody else's, a rule, or the user is asked for it.
func exemptZH(before, after, cue string) bool {
	switch cue {
	case "建议", "推荐":
		return advisedZH(before) || refusedZH(before, after) || toldZH(before, after) || saidZH(before, cue) ||
			startsAny(after, "由您", "由你", "的是否", "采纳率", "次数", "记录", "被采纳", "被拒", "被您", "被你") ||
			startsAny(after, "过") && !startsAny(after, "过两", "过几", "过三", "过一", "过段", "过会", "过年", "过节")
	case "拍板":
		return endsAny(before, "您", "你", "您来", "你来", "老板", "由您", "您自己", "等您", "没有", "未", "尚未", "谁")
	case "为宜":
		return endsAny(before, "认", "以")
	case "可直接":
		return startsAny(after, "比", "看", "查", "对照", "引用", "点", "下载", "打开")
	case "值得":
		return startsAny(after, "的") || endsAny(before, "值不")
	case "最好":
		return after == "" && !endsOption(before) || startsAny(after, "的") && !optionZH.MatchString(after) ||
			endsAny(without(lightZH, before), "得", "效果", "表现", "成绩", "数据", "转化") || openZH(before) || saidZH(before, cue)
	case "可以把", "可以将":
		return endsAny(before, "我", "我还", "我也") && containsAny(after, "列", "查", "调出", "调取", "拉出", "整理")
	case "优先":
		return startsAny(after, "展示", "曝光") || saidZH(before, cue)
	case "要不要", "要不":
		return citesZH(before) // "您问过要不要降价"
	case "供参考", "供您参考":
		return strings.HasSuffix(before, "仅")
	}
	return saidZH(before, cue) || strings.HasSuffix(before, "是否")
}

// Words that may stand between who says something and what is said, or between a
// refusal and what is refused, and who else than the assistant speaks.
var (
	lightZH = ending(lightWordsZH)
	noteZH  = ending(lightWordsZH + "|条|次|个|位|名|人|里|中|有|项|的?(?:留言|反馈|评论|备注|来信|邮件|公告|弹幕|私信)")
	giveZH  = ending("给出|给|作出|做出|提供|任何|明确|具体|进一步|更多|直接|一条|一个|两|几|多|条|次|个|项|的|过|了|为您|给您|向您|对此|形成|引用|可|" +
		"相关|降价|涨价|提价|改价|价格|定价|其他")
	givenZH = ending("给出|作出|的|已|也|天|周|月|日|年|内|里")
	whoseZH = ending("您的|你的|这类|这些|这批|该|新|老")
	saysZH  = ending("的是|是|的|过|了|为|道|着|我")

	adviserZH = regexp.MustCompile("(?:" + advisersZH + ")$")
	speakerZH = regexp.MustCompile("(?:您|你|规则|规定|法律|条款|合同|约束|店铺|他|她|" + advisersZH + ")$")
	youZH     = regexp.MustCompile("(?:您|你)$")
)

const (
	lightWordsZH = "在|上次|之前|以前|曾|曾经|昨天|今天|上周|上个月|当时|过去|都|也|还|就|已|已经|均|一直|明确|主动|多次|更|月|日|号|点|年|对我|跟我|向我"
	advisersZH   = "粉丝|观众|用户|买家|客户|顾客|品牌方|平台|老板|运营|他们|主管|店长|主播|客服|厂家|供应商|同行|竞品方"
)

// ending finds some words, with numbers between them, at the end of a text.
func ending(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?:[ 0-9.:/：-]|` + words + `)+$`)
}

// without takes off the end of a text what is found there.
func without(end *regexp.Regexp, text string) string {
	if at := end.FindStringIndex(text); at != nil {
		return text[:at[0]]
	}
	return text
}

// advisedZH reports whether it is somebody else who advises: "品牌方建议", "观众反馈里有 7
// 条建议". Users advise where a time says so: "您当时建议".
func advisedZH(before string) bool {
	rest := without(noteZH, before)
	return endsSource(rest, adviserZH) || endsSource(rest, youZH) &&
		containsAny(before[len(rest):], "上次", "曾", "昨天", "上周", "上个月", "当时", "日", "号")
}

// endsSource reports whether a text ends with who acts: not with for whom or by whose
// words something is done, and not with us as well.
func endsSource(text string, source *regexp.Regexp) bool {
	rest := without(source, text)
	return rest != text && !endsAny(without(whoseZH, rest), "按", "按照", "根据", "依据", "对", "给", "向", "为", "为了", "针对", "照", "依照",
		"结合", "让", "帮", "面向", "我", "我和", "我与", "我跟", "我们", "我们和", "我们与")
}

// refusedZH reports whether advice is refused or was: "无法给出建议", "拒绝过两次降价建议".
func refusedZH(before, after string) bool {
	rest := without(giveZH, before)
	if endsAny(rest, "不能", "无法", "不会", "不做", "不给", "不足以", "不构成", "不便", "不提供", "暂不", "难以", "不作", "不含", "是否",
		"需要我", "希望我", "想听") || endsAny(rest, "让我", "要我") && strings.HasSuffix(after, "吗") {
		return true
	}
	return endsAny(rest, "没有", "不是", "未采纳", "未给", "并无", "拒绝", "采纳", "否决", "接受") && !ordersZH(after)
}

// ordersZH reports whether advice goes on with what to do.
func ordersZH(after string) bool {
	return startsAny(after, "您", "你", "降", "涨", "定", "把", "将", "改", "调", "选", "用", "上", "换", "卖", "先", "立", "马上", "保") ||
		after != "" && isDigit(after[0])
}

// toldZH reports whether advice is told of that was given at another time. "之前" and
// "历史" may be said of data as well, so what follows must tell of it too.
func toldZH(before, after string) bool {
	for _, when := range [...]string{"上次", "曾", "曾经", "当时", "上一场", "昨天", "上周", "上个月", "之前", "以前", "过去", "历史"} {
		rest, ok := strings.CutSuffix(without(givenZH, before), when)
		if ok && !endsAny(rest, "按", "按照", "根据", "依据", "照", "依照", "结合", "参考") {
			return startsAny(after, "的", "是", "为", "了") || !slices.Contains([]string{"之前", "以前", "过去", "历史"}, when)
		}
	}
	return false
}

// nearRunes is how far what is said may stand from who says it, such as "平台规定标题必须".
const nearRunes = 6

// saidZH reports whether a cue is in the words that somebody says or a rule has: a
// speaker, then at once a verb of saying, then the words with the cue.
func saidZH(before, cue string) bool {
	for _, verb := range [...]string{"说过", "说", "表示", "认为", "觉得", "写明", "写道", "规定", "要求", "设定", "标注"} {
		at := strings.LastIndex(before, verb)
		if at < 0 {
			continue
		}
		between := before[at+len(verb):]
		near := nearRunes
		if (verb == "要求" || verb == "设定") && !slices.Contains([]string{"必须", "务必", "一定要"}, cue) {
			near = 0
		}
		if utf8.RuneCountInString(between) <= near && !startsAny(between, "的", "得", "明") && !turnsZH(between) &&
			endsSource(without(noteZH, before[:at]), speakerZH) {
			return true
		}
	}
	return false
}

// turnsZH reports whether words begin a thought of their own.
func turnsZH(words string) bool {
	return containsAny(words, "所以", "因此", "因而", "那么", "于是", "而", "但", "我", "故", "就", "可见")
}

// countsZH reports whether a quotation is what some comments say that are counted:
// "提到“值得买”的有 17 条".
func countsZH(before, after string) bool {
	return endsAny(before, "提到", "提及", "说", "认为") && startsAny(after, "的有", "的占", "的共", "的评论", "的留言")
}

// citesZH reports whether Chinese words end with somebody who says or writes what
// follows.
func citesZH(before string) bool {
	before = without(saysZH, before)
	for _, verb := range [...]string{"说", "表示", "写", "问", "提", "提到", "规定", "要求", "评论", "留言", "反馈", "声明", "标题", "原话", "原文",
		"备注", "强调", "告诉", "讲", "规则", "约束", "条款", "合同", "公告", "弹幕"} {
		if rest, ok := strings.CutSuffix(before, verb); ok {
			return endsSource(without(noteZH, strings.TrimSuffix(rest, "的")), speakerZH)
		}
	}
	return false
}

func endsAny(text string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(text, end) })
}

// optionZH is what may follow words such as "最合适" where an option is chosen by them.
var optionZH = regexp.MustCompile("^的(?:选择|方案|做法|办法|价|定价|售价|时机|时段|时间|安排|策略|顺序|方式|一步|开场|是|解)")

// bestZH finds Chinese words that put one option above the others.
func bestZH(clause string) (string, bool) {
	for _, cue := range [...]string{"最合适", "最合理", "最稳", "最划算", "最理想", "最明智", "最靠谱", "最有利", "最恰当", "最可取",
		"最适宜", "最优", "最佳选择", "最佳方案", "最佳做法", "最佳价", "最佳定价", "最佳时", "最佳策略", "最佳顺序", "最佳答案", "最佳解", "甜蜜点",
		"甜点价", "不二之选", "正解", "正确的选择", "正确选择", "明智的选择", "明智之选", "更好的选择是"} {
		if recommends(clause, cue, strings.Index, exemptBestZH) {
			return cue, true
		}
	}
	return "", false
}

// exemptBestZH: nobody knows which option is best, somebody else says so, or the best
// of what was is named, as "最划算的套餐" is.
func exemptBestZH(before, after, cue string) bool {
	if openZH(before) || saidZH(before, cue) || containsAny(after, "无法", "未知", "不明", "尚未", "不确定", "不清楚") {
		return true
	}
	return after != "的" && startsAny(after, "的") && !optionZH.MatchString(after)
}

// untoldZH is what cannot be told.
var untoldZH = regexp.MustCompile("(?:无法|不能|不足以|难以|未能)(?:判断|确定|说明|证明|看出|得出|回答|认定|分辨)")

// openZH reports whether words right before a superlative leave open what is best:
// "无法判断哪个价格最好".
func openZH(before string) bool {
	runes := []rune(before)
	near := string(runes[max(0, len(runes)-nearRunes-2):])
	return (containsAny(near, "哪", "什么", "是否") || untoldZH.MatchString(near)) && !turnsZH(near) ||
		endsAny(before, "未必", "不一定", "不是", "并非", "不算", "没有")
}

// endsOption reports whether words end with something that can be chosen: "79元最好".
func endsOption(before string) bool {
	return endsAny(before, "元", "块", "折", "分钟", "点", "方案", "款", "场") && !endsAny(before, "一场", "这场", "那场", "的场") ||
		before != "" && (isDigit(before[len(before)-1]) || isLatin(before[len(before)-1]))
}

// notProposedZH takes out words that hold a cue of weakZH and propose nothing.
var notProposedZH = removing("考虑到", "考虑过", "试试过", "尝试过", "尝试了", "可以看到", "可以看出", "可以查到", "可以查看")

// weakZH finds Chinese words that propose.
func weakZH(clause string) (string, bool) {
	weighed := notProposedZH.Replace(clause)
	for _, cue := range [...]string{"考虑", "不妨", "试试", "试一下", "尝试", "要不要", "要不", "何不", "供您参考", "供参考",
		"可参考", "可以参考", "作为参考", "或许可以", "也许可以", "也可以", "可以先", "可以把", "可以将", "可以降", "可以涨",
		"可以换", "可以用", "可以选", "可以缩短", "可以提高", "可以延长", "可以加", "可以减", "可以改", "可以在", "可以从",
		"您可以", "你可以", "比较合适", "更合适", "会更好", "会好一些", "会好些", "比较好", "更划算", "更稳妥", "是一个备选",
		"可能是备选", "作为备选", "适合做", "适合当", "或许把", "或许先", "或许用", "或许换", "或许降", "或许提", "也许把", "也许先", "也许用", "也许换",
		"可以停", "可以上", "可以走", "可以沿用", "可以直接", "可以试", "可以照", "可以继续", "可沿用", "有没有想过", "值得一试", "更好的选择", "怎么样"} {
		if recommends(weighed, cue, strings.Index, exemptZH) {
			return cue, true
		}
	}
	return "", false
}

// pricesZH is a clause that says no more than what something is to cost: "今晚按 79 元卖",
// "价格就定 79 元".
var pricesZH = regexp.MustCompile(`^(?:[^的了过]{0,12}就|那就|直接|今晚|现在|明天|下一场|这场|本场)?(?:按|定|定在|定到|设为|设在|就按|选)` +
	`\d+(?:\.\d+)?(?:元|块|块钱|折)?(?:卖|来卖|执行|定价|来|走|上|准没错|为宜|为好|合适)?(?:即可|就行|就好|吧)?$|` +
	`^(?:今晚|现在|明天|就|直接|那就|下一场|这场)(?:卖|定价|标价)\d+(?:\.\d+)?(?:元|块|块钱|折)?$`)

// leadsZH are words before an order: "今晚先把…".
var leadsZH = regexp.MustCompile("^(?:那就|所以|因此|直接|现在|立即|马上|接下来|就|先|再|下一场|今晚|明天|这场|本场|开场|下次){1,3}")

// nowOffZH is an order of which the thing comes first: "这款先下架".
var nowOffZH = regexp.MustCompile("^(?:这款|该款|此款|这个|它|[0-9]{3,6})(?:就|先|直接|马上|立即)+(?:下架|停播|停售|停掉|撤下|降价|涨价|补货|主推|放弃)$")

// concludesZH leads to what the assistant makes of it.
var concludesZH = regexp.MustCompile("^[^：:]{0,8}(?:结论|方案|答案|判断|看法|意见|想法|小结|总结|综合|下一步|总之|综上)[^：:]{0,6}[：:] ?")

// imperativeZH finds a Chinese clause that tells the user what to do. What is told
// of lives that were has words of the past in it.
func imperativeZH(clause string) (string, bool) {
	rest := concludesZH.ReplaceAllString(clause, "")
	if startsAny(rest, "别再", "不要再", "不用再", "别用", "取消它", "去掉它", "停掉", "放弃它", "保留它") {
		return rest[:len("别再")], true
	}
	if asked, ok := strings.CutPrefix(rest, "请"); ok && !startsAny(asked, "您决定", "您确认", "您定", "您告", "您选", "你决定",
		"确认", "告诉", "告知", "补充", "提供", "查看", "说明", "问", "稍", "注意", "参阅", "见", "以", "核实", "回复",
		"选择") {
		return "请…", true
	}
	priced := pricesZH.MatchString(rest)
	rest = leadsZH.ReplaceAllString(rest, "")
	if found := nowOffZH.FindString(rest); found != "" {
		return found, true
	}
	if priced || pricesZH.MatchString(rest) {
		return "…价", true
	}
	if startsAny(rest, "把", "将") && !startsAny(rest, "将在", "将于", "将会", "将由", "将有", "将达", "将近") && !tellsOfLives(rest) &&
		containsAny(rest, "到", "成", "为", "在", "至", "回", "压", "定", "设", "提高", "降低", "缩短", "延长", "下调", "上调", "换",
			"放", "停", "去掉", "加上", "下架", "上架", "撤") {
		return "把…", true
	}
	if tellsOfLives(rest) || containsAny(rest, "后", "率", "的", "两场", "三场", "几场", "为", "是", "次", "过", "时", "均",
		"有", "占", "您决定", "由您", "告诉我", "补充", "提供", "确认", "查看", "：", ":", "?", "？", "低于", "高于") {
		return "", false
	}
	for _, verb := range [...]string{"降价", "涨价", "提价", "降到", "涨到", "选", "用", "换", "讲", "缩短", "延长", "减少",
		"增加", "停用", "停播", "下架", "上架", "主推", "主打", "保持", "避免", "不要", "别", "改用", "改成", "调到", "上",
		"推", "发", "加", "砍", "保价", "补", "撤", "回到", "取消", "去掉", "安排", "补货", "提前", "推迟", "加播", "放弃", "坚持", "执行", "照"} {
		if strings.HasPrefix(rest, verb) && utf8.RuneCountInString(rest) > utf8.RuneCountInString(verb)+1 && !startsAny(rest, "用户",
			"上周", "上月", "上一", "上述", "上次", "推荐", "推流", "发货", "发现", "加购", "选品", "讲解", "上播", "下播",
			"补货周期", "补货时间", "换货", "用时", "用券", "发生", "上面", "以上", "别人", "上新", "选座", "选餐", "选择在", "照这个速度", "照此", "用量", "用水", "用电", "上限", "上半", "上个", "加急", "加盟", "加湿",
			"发布", "推算", "推广", "换算", "补差", "降价幅度", "降价期间", "涨价幅度", "提价幅度") {
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
