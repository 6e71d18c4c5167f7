package memory

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// notAdviceZH takes out words that hold a cue and recommend nothing.
var notAdviceZH = removing(
	"建议零售价", "建议售价", "建议价", "推荐流量", "推荐流", "推荐页", "推荐位", "推荐算法", "推荐系统", "推荐率",
	"推荐次数", "自然推荐", "被推荐", "推荐渠道", "应该是", "应该会", "应该已", "应该还", "应该没", "应该不会", "应该有",
	"最好的", "最好成绩", "效果最好", "表现最好", "卖得最好", "转化最好", "数据最好", "最好看", "最好卖", "值得注意",
	"优先级", "应该如何", "不得不", "值得一提",
)

// strongZH finds Chinese words that recommend.
func strongZH(clause string) (string, bool) {
	for _, cue := range [...]string{"建议", "推荐", "应该", "应当", "最好", "务必", "必须", "首选", "最佳做法", "最佳方案",
		"最佳选择", "最优选择", "最优的选择", "最优方案", "上策", "优先", "值得", "赶紧", "尽快", "不如", "一定要", "我会选",
		"我会把", "我会先", "我会用", "我的看法是", "我的意见是", "我倾向", "我主张", "千万别", "千万不要", "没必要", "有必要",
		"得把", "理应", "应先", "应把", "应尽", "应予", "须先", "才是今晚", "才是最", "照这个来", "请安排", "请执行", "请控制",
		"请采用", "请改", "请降", "请提高", "请保持", "请停", "该降", "该涨", "该换", "该上", "该停", "需要把", "需要降",
		"需要提高", "需要缩短", "要把", "更适合您", "更适合你"} {
		at := strings.Index(clause, cue)
		if at < 0 || exemptZH(clause[:at], clause[at+len(cue):], cue) {
			continue
		}
		return cue, true
	}
	if strings.HasSuffix(clause, "吧") && containsAny(clause, "降", "涨", "改", "换", "上", "下", "选", "用", "加", "减", "讲",
		"停", "推", "做", "定", "调", "发", "放", "保持") && !containsAny(clause, "大概", "可能", "您看", "你看", "您定",
		"您决定", "告诉我") {
		return "…吧", true
	}
	return "", false
}

// exemptZH reports whether a Chinese cue stands in a clause that recommends nothing:
// it is refused, told of the past, somebody else's, a rule, or the user is asked for it.
func exemptZH(before, after, cue string) bool {
	switch cue {
	case "建议", "推荐":
		return attributedZH(before, "粉丝", "观众", "用户", "买家", "品牌方", "平台", "老板", "运营", "您的", "你的", "他们",
			"主管", "顾客", "厂家", "供应商", "同行") ||
			containsAny(before, "不能", "无法", "不会", "不做", "不给", "没有", "不足以", "不构成", "不便", "不提供", "暂不",
				"不是", "难以", "未采纳", "未给", "不作", "不含", "并无", "拒绝", "采纳", "否决", "接受", "要我", "需要我",
				"希望我", "让我", "想听", "是否") ||
			containsAny(before, "上次", "之前", "曾", "当时", "上一场", "过去", "昨天", "上周", "以前", "上个月", "历史") ||
			startsAny(after, "由您", "由你", "的是否", "采纳率", "次数", "记录", "被采纳", "被拒", "过")
	case "值得":
		return startsAny(after, "的")
	case "最好":
		return after == "" || containsAny(before, "得", "效果", "表现", "成绩") || saidZH(before)
	case "优先":
		return startsAny(after, "展示", "曝光") || saidZH(before)
	case "供参考", "供您参考":
		return strings.HasSuffix(before, "仅")
	}
	return saidZH(before) || strings.HasSuffix(before, "是否")
}

// saidZH reports whether what follows is what somebody said or a rule says.
func saidZH(before string) bool {
	return attributedZH(before, "您说", "你说", "之前说", "上次说", "曾说", "说过", "提到", "规定", "规则", "要求", "您认为",
		"您觉得", "约束", "条款", "法律", "设定", "写明", "标注", "评论说")
}

// nearRunes is how far a word may stand from what it attributes, such as "观众反馈里有 7
// 条建议降价".
const nearRunes = 8

// attributedZH reports whether one of some words stands shortly before, as who or
// what says it: "按照您的要求" and "对新用户" are for whom it is said.
func attributedZH(before string, sources ...string) bool {
	for _, who := range sources {
		at := strings.LastIndex(before, who)
		if at < 0 || utf8.RuneCountInString(before[at+len(who):]) > nearRunes {
			continue
		}
		if !endsAny(before[:at], "按", "按照", "根据", "依据", "对", "给", "向", "为", "为了", "针对", "照", "结合", "让", "帮",
			"面向", "对新", "对老", "的", "我") {
			return true
		}
	}
	return false
}

func endsAny(text string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(text, end) })
}

// weakZH finds Chinese words that propose.
func weakZH(clause string) (string, bool) {
	for _, cue := range [...]string{"考虑", "不妨", "试试", "试一下", "尝试", "要不要", "要不", "何不", "供您参考", "供参考",
		"可参考", "可以参考", "作为参考", "或许可以", "也许可以", "也可以", "可以先", "可以把", "可以将", "可以降", "可以涨",
		"可以换", "可以用", "可以选", "可以缩短", "可以提高", "可以延长", "可以加", "可以减", "可以改", "可以在", "可以从",
		"您可以", "你可以", "比较合适", "更合适", "会更好", "会好一些", "会好些", "比较好", "更划算", "更稳妥", "是一个备选",
		"可能是备选", "作为备选", "有没有想过", "值得一试", "更好的选择", "怎么样"} {
		at := strings.Index(clause, cue)
		if at < 0 || exemptZH(clause[:at], clause[at+len(cue):], cue) || containsAny(clause[at:], "考虑到", "考虑过", "试试过",
			"尝试过", "尝试了") || containsAny(clause, "可以看到", "可以看出", "可以查到", "可以查看") {
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
	if asked, ok := strings.CutPrefix(rest, "请"); ok && !startsAny(asked, "您决定", "您确认", "您定", "您告", "您选", "你决定",
		"确认", "告诉", "告知", "补充", "提供", "查看", "说明", "问", "稍", "注意", "参阅", "见", "以", "核实", "回复",
		"选择") {
		return "请…", true
	}
	for _, lead := range [...]string{"结论：", "结论:", "方案：", "方案:", "答案：", "那就", "所以", "因此", "直接", "现在",
		"立即", "马上", "接下来", "就", "先", "再", "下一场", "今晚", "明天", "这场", "本场", "开场", "下次"} {
		rest = strings.TrimPrefix(rest, lead)
	}
	if startsAny(rest, "把", "将") && !tellsOfLives(rest) && containsAny(rest, "到", "成", "为", "提高", "降低", "缩短", "延长",
		"下调", "上调", "换", "放", "停", "去掉", "加上") {
		return "把…", true
	}
	if tellsOfLives(rest) || containsAny(rest, "后", "率", "的", "两场", "三场", "几场", "为", "是", "次", "过", "时", "均",
		"有", "占", "您决定", "由您", "告诉我", "补充", "提供", "确认", "查看", "：", ":", "?", "？", "低于", "高于") {
		return "", false
	}
	for _, verb := range [...]string{"降价", "涨价", "提价", "降到", "涨到", "选", "用", "换", "讲", "缩短", "延长", "减少",
		"增加", "停用", "停播", "下架", "上架", "主推", "主打", "保持", "避免", "不要", "别", "改用", "改成", "调到", "上",
		"推", "发", "加", "砍", "取消", "去掉", "安排", "补货", "提前", "推迟", "加播", "放弃", "坚持", "执行", "照"} {
		if strings.HasPrefix(rest, verb) && utf8.RuneCountInString(rest) > utf8.RuneCountInString(verb)+1 && !startsAny(rest, "用户",
			"上周", "上月", "上一", "上述", "上次", "推荐", "推流", "发货", "发现", "加购", "选品", "讲解", "上播", "下播",
			"换货", "用时", "发生", "上面", "以上", "别人", "上新") {
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
