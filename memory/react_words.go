package memory

// A role is what a phrase says of an output.
type role int

// The roles.
const (
	roleAround   role = iota // nothing: people put it around the others
	roleNames                // that it is followed, and names it
	roleMeans                // that it is followed
	roleAgrees               // likely that; or it is only polite
	roleRefuses              // that it is not followed
	roleDeclines             // likely that
	roleReasons              // why it is not
	roleThanks
	roleChanges // what follows counts in its place
	roleBut     // something counts in its place
	rolePrefers // the number beside it does
	roleSettles // the number beside it counts
	roleMoment  // when: a "no" for now is none
	roleUnclear // something else: it holds a phrase that would be taken for another one

	roles // how many there are
)

// reactionPhrases gives the phrases by which people say what they do with an output, in
// lower case and simplified characters. Of those that begin at one place the longest counts.
func reactionPhrases() map[string]role {
	all := map[string]role{}
	for of, phrases := range map[role][]string{
		roleAround:   append(aroundReactionZH(), aroundReactionEN()...),
		roleNames:    append(namesOutputZH(), namesOutputEN()...),
		roleMeans:    append(meansOutputZH(), meansOutputEN()...),
		roleAgrees:   append(agreesZH(), agreesEN()...),
		roleRefuses:  append(refusesZH(), refusesEN()...),
		roleDeclines: append(declinesZH(), declinesEN()...),
		roleReasons: {"太低", "太高", "太贵", "太便宜", "太长", "太短", "太多", "太少", "太早", "太晚", "太急", "太狠", "too low", "too high", "too expensive",
			"too cheap", "too long", "too short", "too much", "too many", "too early", "too late", "too risky"},
		roleThanks:  {"谢谢", "多谢", "感谢", "谢了", "辛苦了", "thanks", "thank you", "thx", "cheers"},
		roleChanges: append(changesZH(), changesEN()...),
		roleBut:     {"但", "但是", "不过", "只是", "but", "except", "though"},
		rolePrefers: {"还是", "要", "我要", "我想", "想要", "我更想", "宁可", "更好", "instead", "rather", "i'd rather", "i prefer", "i'd prefer", "prefer", "i want", "better"},
		roleSettles: {"就", "按", "用", "定", "定价", "就按", "就用", "就定", "选", "go with", "use", "take"},
		roleMoment:  {"今晚", "今天", "现在", "马上", "这次", "tonight", "today", "now", "right now", "this time"},
		roleUnclear: {"别的", "要不", "要不要", "考虑", "想想", "看看", "再说", "你好", "您好", "好了", "改好", "行啊你", "not this one", "not that one", "not now", "not yet", "not sure", "don't know", "do not know", "no idea", "for now"},
	} {
		for _, p := range phrases {
			if all[p] = of; of == roleNames && hasHan(p) {
				all["就"+p] = of
			}
		}
	}
	return all
}

func aroundReactionZH() []string {
	return []string{"那", "吧", "了", "啊", "呀", "嘛", "呗", "哦", "噢", "嗯", "请", "麻烦", "帮我", "给我", "你", "您", "我", "我们", "咱们", "把", "从", "的",
		"这个", "那个", "它", "就行", "就好", "就可以", "来", "办", "做", "执行", "去", "改", "发", "卖", "上", "安排", "直接", "我觉得", "觉得", "这样"}
}

func aroundReactionEN() []string {
	return []string{"please", "just", "then", "so", "well", "the", "it", "it's", "that", "that's", "this", "one", "i", "i'll", "we", "we'll", "let's", "let us",
		"is", "to", "of", "follow", "my", "you", "and", "me", "for me", "i think"}
}

func namesOutputZH() []string {
	return []string{"采纳", "采纳这个建议", "采纳你的建议", "采纳您的建议", "按你说的", "照你说的", "按您说的", "照您说的", "听你的", "听您的", "按你的建议", "按您的建议", "照你的建议", "照您的建议", "按建议", "照建议", "按你建议的",
		"按您建议的", "按你推荐的", "按您推荐的", "按你的方案", "按您的方案", "用你的方案", "用您的方案", "接受建议", "接受你的建议", "接受您的建议"}
}

func namesOutputEN() []string {
	return []string{"as you suggest", "as you suggested", "as you say", "as you said", "as you recommend", "as you recommended", "as you propose", "as you proposed",
		"as suggested", "as recommended", "as proposed", "your suggestion", "your recommendation", "your advice", "your proposal", "i accept", "accepted", "adopt it", "adopt that"}
}

func meansOutputZH() []string {
	return []string{"就这么办", "就这样办", "就这么做", "就这样做", "就这么定", "就这样定", "就这么发", "就这样发", "就这么改", "就这样改", "就这么来", "就这样来", "就这么卖",
		"这么办", "这么定", "这么发", "这么改", "照办", "照做", "照这个办", "按这个办", "按这个来", "按这个定", "同意", "赞同", "赞成"}
}

func meansOutputEN() []string {
	return []string{"go with that", "go with it", "go with this", "do that", "do it", "do this", "i agree", "i agree with you", "agreed", "make it so", "let's do that", "let's do it"}
}

func agreesZH() []string {
	return []string{"好", "好的", "好吧", "好呀", "好啊", "行", "行的", "可以", "可以的", "没问题", "没意见", "成"}
}

func agreesEN() []string {
	return []string{"yes", "yeah", "yep", "ok", "okay", "sure", "fine", "alright", "all right", "good", "great", "perfect", "sounds good", "sounds great", "go ahead",
		"works for me", "that works", "looks good", "no problem", "deal"}
}

func refusesZH() []string {
	return []string{"不采纳", "不同意", "不赞成", "不赞同", "不接受", "不按你说的", "不按您说的", "不听你的", "不听您的", "不按这个", "不这么办", "不这么做", "不这么发", "不这么定", "不这么改",
		"别这么做", "别这么办", "别这么改", "别这么发", "不要这么做", "不要这么办", "不要这么改", "不要这么发", "不用你的方案", "不按你的方案", "不按建议"}
}

func refusesEN() []string {
	return []string{"i disagree", "disagree", "i don't agree", "i do not agree", "i don't accept", "i do not accept", "i reject", "i decline", "rejected", "won't follow",
		"don't follow", "not following"}
}

func declinesZH() []string {
	return []string{"不", "不行", "不用", "不用了", "不要", "不要了", "不必", "不必了", "不了", "别", "不可以", "不合适", "没必要", "不改", "不发", "别改价", "不改价", "别改", "别发", "不用改", "不要改", "不要发", "不用发"}
}

func declinesEN() []string {
	return []string{"no", "nope", "no way", "don't", "do not", "not", "don't do that", "don't do it", "don't do this", "do not do that", "do not do it", "no thanks",
		"no thank you", "not a good idea", "rather not", "i'd rather not", "let's not"}
}

func changesZH() []string {
	return []string{"改成", "改为", "换成", "换为", "调成", "调到", "调为", "改到", "定为", "定成", "定到", "定在", "设为", "设成", "改用", "换用"}
}

func changesEN() []string {
	return []string{"change it to", "change that to", "change this to", "change the price to", "change to", "make it", "make that", "set it to", "set it at", "set that to", "switch to",
		"replace it with", "lower it to", "raise it to", "put it at"}
}

// agreedZH and agreedEN are what a question has that asks whether the user agrees.
func agreedZH() []string {
	return []string{"您觉得呢", "你觉得呢", "觉得怎么样", "您看可以", "你看可以", "这样可以吗", "这样行吗", "您同意", "你同意", "是否同意", "是否采纳", "要采纳", "这样好吗", "就这么办吗", "就这样办吗", "您看如何", "您看呢"}
}

func agreedEN() []string {
	return []string{"do you agree", "what do you think", "does that work", "is that ok", "is that okay", "is that all right", "sound good", "shall i do that", "shall we do that"}
}
