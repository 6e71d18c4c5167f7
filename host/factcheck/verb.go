package factcheck

import "strings"

// A class is a kind of action, as verbs and tools tell of it.
type class uint

const (
	changes class = 1 << iota
	cancels
	removes
	creates
	sends
	pays
	switches // on and off, publishes, closes
	transfers
	anything // done, handled, saved: every action is that
)

// classNames are for the reasons of findings.
func (c class) String() string {
	for i, name := range []string{"change", "cancellation", "removal", "booking, order or addition", "sending", "payment", "publication or switch", "transfer"} {
		if c == 1<<i {
			return name
		}
	}
	return "action"
}

// english gives the class of an English verb that tells of something done.
func english(verb string) class {
	switch verb {
	case "changed", "updated", "modified", "set", "adjusted", "lowered", "raised", "reduced", "increased", "decreased", "edited", "upgraded", "downgraded",
		"switched", "moved", "renamed", "replaced", "rescheduled", "discounted", "extended", "repriced", "reset", "dropped", "cut", "swapped", "restocked", "corrected":
		return changes
	case "cancelled", "canceled", "voided", "revoked", "withdrawn":
		return cancels
	case "deleted", "removed", "cleared", "erased", "delisted":
		return removes
	case "booked", "reserved", "ordered", "placed", "created", "added", "registered", "scheduled", "purchased", "bought", "rebooked", "made", "generated", "listed":
		return creates
	case "sent", "issued", "emailed", "e-mailed", "notified", "delivered", "shipped", "dispatched", "forwarded", "granted", "messaged", "texted", "posted":
		return sends
	case "refunded", "charged", "paid", "credited", "billed", "waived", "deducted", "compensated", "applied":
		return pays
	case "activated", "enabled", "published", "launched", "paused", "disabled", "closed", "deactivated", "unpublished", "started", "stopped", "opened", "taken":
		return switches
	case "transferred", "escalated", "connected", "handed":
		return transfers
	case "processed", "completed", "submitted", "saved", "recorded", "confirmed", "finalized", "executed":
		return anything
	}
	return 0
}

// A chineseVerb is a verb with its class. Short ones need a mark of completion
// right behind them, since they are a part of many other words.
type chineseVerb struct {
	text  string
	class class
}

func chineseVerbs() [66]chineseVerb {
	return [66]chineseVerb{
		{"修改", changes}, {"更新", changes}, {"调整", changes}, {"改价", changes}, {"调价", changes}, {"降价", changes}, {"涨价", changes}, {"设置", changes},
		{"更换", changes}, {"升级", changes}, {"降级", changes}, {"改签", changes}, {"变更", changes}, {"补货", changes}, {"设为", changes}, {"延期", changes}, {"恢复", changes},
		{"取消", cancels}, {"撤销", cancels}, {"退订", cancels}, {"作废", cancels}, {"撤回", cancels}, {"删除", removes}, {"移除", removes}, {"移出", removes}, {"拉黑", removes}, {"清空", removes}, {"下架", removes | switches},
		{"下单", creates}, {"预订", creates}, {"创建", creates}, {"新增", creates}, {"添加", creates}, {"登记", creates}, {"购买", creates}, {"预约", creates}, {"新建", creates},
		{"发送", sends}, {"发放", sends}, {"通知", sends}, {"推送", sends}, {"发货", sends}, {"寄出", sends}, {"赠送", sends}, {"派发", sends},
		{"退款", pays}, {"支付", pays}, {"付款", pays}, {"扣款", pays}, {"补偿", pays}, {"退还", pays}, {"上架", switches | creates}, {"发布", switches}, {"开启", switches},
		{"关闭", switches}, {"停用", switches}, {"启用", switches}, {"暂停", switches}, {"上线", switches}, {"转接", transfers}, {"转人工", transfers}, {"转给", transfers},
		{"完成", anything}, {"搞定", anything}, {"处理", anything}, {"办理", anything},
	}
}

func shortVerbs() [19]chineseVerb {
	return [19]chineseVerb{
		{"改", changes}, {"调", changes}, {"降", changes}, {"换", changes}, {"设", changes}, {"涨", changes}, {"补", changes}, {"挂", switches | creates | changes}, {"删", removes}, {"订", creates}, {"加", creates | changes}, {"建", creates},
		{"发", sends}, {"寄", sends}, {"退", pays | cancels}, {"扣", pays}, {"关", switches}, {"转", transfers}, {"办", anything},
	}
}

// otherWords blanks words that hold a short verb and mean something else.
var otherWords = strings.NewReplacer("发现", blank, "发生", blank, "出发", blank, "开发", blank, "沙发", blank, "头发", blank, "建议", blank, "设备", blank, "设计", blank, "更加", blank, "参加", blank,
	"调查", blank, "关于", blank, "有关", blank, "相关", blank, "关注", blank, "无关", blank, "海关", blank, "强调", blank, "空调", blank, "转化", blank, "发票", blank, "发挥", blank, "办法", blank, "加油", blank)

const blank = "      " // as long as two characters

// toolClass says what a tool does: by the verb that its name and its summary
// begin with, else by all their words; anything if they do not tell.
func toolClass(t Tool) class {
	name, summary := lower(t.Name), lower(t.Summary)
	verb, _, _ := strings.Cut(name, "_")
	first, _, _ := strings.Cut(summary, " ")
	if hasHan(first) {
		first = cutText(first, 2*len("改"))
	}
	if c := classOf(verb+"_") | classOf(first+" "); c != 0 {
		return c
	}
	if c := classOf(name + " " + summary); c != 0 {
		return c
	}
	return anything
}

func classOf(words string) (c class) {
	for _, row := range toolWords() {
		if containsAny(words, row.words...) {
			c |= row.class
		}
	}
	return c
}

type toolRow struct {
	class class
	words []string
}

func toolWords() [8]toolRow {
	return [8]toolRow{
		{changes, []string{"chang", "updat", "modif", "set_", "set ", "sets ", "adjust", "edit", "upgrad", "downgrad", "pric", "renam", "replac", "resched", "move", "switch", "restock", "put_", "write", "raise", "lower", "reduc", "increas", "改", "调", "设", "更新", "换", "价", "降", "涨", "补"}},
		{cancels, []string{"cancel", "void", "revok", "withdraw", "取消", "撤", "退订", "作废"}},
		{removes, []string{"delet", "remov", "clear", "erase", "delist", "drop", "删", "移除", "清空", "下架"}},
		{creates, []string{"book", "reserv", "order", "creat", "add", "place", "regist", "schedul", "buy", "purchas", "list", "generat", "订", "建", "加", "下单", "上架", "登记", "预约", "买"}},
		{sends, []string{"send", "issu", "mail", "notif", "ship", "grant", "deliver", "dispatch", "messag", "post", "push", "give", "coupon", "发", "寄", "通知", "推送", "赠", "送"}},
		{pays, []string{"refund", "charg", "pay", "credit", "bill", "waiv", "compensat", "deduct", "apply", "退", "付", "扣", "补偿"}},
		{switches, []string{"publish", "activ", "enabl", "disabl", "start", "stop", "paus", "close", "open", "launch", "list", "stage", "show", "上架", "下架", "发布", "开", "关", "停", "上线"}},
		{transfers, []string{"transfer", "escalat", "connect", "human", "hand", "转"}},
	}
}

// implied is what else happens where a tool of a class succeeds: who cancels
// refunds, who books charges.
func implied(c class) class {
	if c&anything != 0 {
		return ^class(0)
	}
	if c&(cancels|creates|changes) != 0 {
		c |= pays
	}
	if c&(creates|changes) != 0 {
		c |= creates | changes
	}
	if c&sends != 0 {
		c |= creates | pays
	}
	if c&removes != 0 {
		c |= cancels
	}
	if c&cancels != 0 {
		c |= removes
	}
	return c
}
