package abi

import "strings"

// A Recovery is what the host does by itself about a problem.
type Recovery int

// Recoveries, mildest first.
const (
	TellModel Recovery = iota // the model gets message, hint and candidates and finds another way
	Repair                    // deterministic repair once, else as TellModel
	Retry                     // up to three times with the same key, then as TellModel
	Wait                      // nothing runs until somebody answers
	Stop                      // no retry; the user is told; the turn goes on without it
)

// String names the recovery as the audit and the documentation do.
func (r Recovery) String() string {
	return [...]string{"tell the model", "repair", "retry", "wait", "stop and notify"}[r]
}

// A Row is one line of the table of problems.
type Row struct {
	Code     Code
	Name     string
	Meaning  string
	Recovery Recovery
	Model    string // added to what the model sees when the problem has no hint of its own
	UserEN   string // what the user sees, where the user is told
	UserZH   string
}

// RowOf gives the row of a code. A code of a skill's own range has the row of
// SkillRefused; any other unknown code has the row of Broken.
func RowOf(c Code) Row {
	if c >= SkillRefused && c.Class() == ClassBusiness {
		c = SkillRefused
	}
	broken := Row{}
	for _, r := range Codes() {
		if r.Code == c {
			return r
		}
		if r.Code == Broken {
			broken = r
		}
	}
	return broken
}

// User gives the words for a user of a locale (BCP 47): Chinese or English.
func (r Row) User(locale string) string {
	if strings.HasPrefix(strings.ToLower(locale), "zh") {
		return r.UserZH
	}
	return r.UserEN
}

// Codes gives the table: one row for each code, in the order of the codes.
func Codes() []Row {
	return []Row{
		{PendingApproval, "pending approval", "a person must answer before the call runs", Wait,
			"The user was asked. Do not call it again; go on with what does not depend on it, or wait.", "Please confirm.", "请确认。"},
		{RedLine, "red line", "a platform rule blocks the call, whatever the skill declares", TellModel,
			"A platform rule forbids this. Do not try it another way; tell the user.", "Not allowed by the platform.", "平台规则不允许该操作。"},
		{Rejected, "rejected by user", "the user was asked and said no", TellModel,
			"The user said no. Do not repeat it; ask what they want instead.", "You rejected this.", "您已拒绝该操作。"},
		{BreakerOpen, "breaker open", "calls were repeated without progress", TellModel,
			"You repeated yourself without progress. Stop, and do something else or ask the user.", "The assistant repeated itself; the repeated step was not run.", "助手重复操作，该步骤未执行。"},
		{OverBudget, "over budget", "steps, tokens, money or calls of this task are used up", Stop,
			"The budget is used up. Sum up what is done and what is left.", "The budget of this task is used up.", "本任务预算已用完。"},
		{InFlight, "in flight", "the same write is running elsewhere", TellModel,
			"The same action is already running. Do not repeat it.", "This is already being done.", "该操作正在执行。"},
		{OutcomeUnknown, "outcome unknown", "the same write began and its end was never seen", Stop,
			"It is not known whether this was done. Do not repeat it; ask the user to look.", "It is not certain whether this was done. Please check.", "无法确定该操作是否已完成，请核实。"},
		{Cancelled, "cancelled", "the caller went away or stopped the turn", Stop,
			"The user stopped this.", "Stopped.", "已停止。"},
		{Circling, "circling", "calls were repeated again after the breaker's warning", Stop,
			"You went on repeating yourself, and the turn was stopped. Do not go on; say what is done and what is not.", "The assistant was going round in circles and was stopped.", "助手陷入重复，已停止。"},

		{Refused, "refused", "the business says no", TellModel,
			"Try another way within the rules, or tell the user why not.", "The shop refused this.", "业务拒绝了该操作。"},
		{OutOfBounds, "out of bounds", "a value that the business does not accept", TellModel,
			"Choose a value inside the bounds, or tell the user the bounds.", "The value is outside what is allowed.", "数值超出允许范围。"},
		{NotAllowed, "not allowed", "not for this user, this shop or this moment", TellModel,
			"Tell the user why it is not allowed.", "This is not allowed.", "无权执行该操作。"},
		{Conflict, "conflict", "the thing changed or is taken", TellModel,
			"Read it again, then decide.", "It was changed in the meantime.", "数据已被修改，请重试。"},
		{NotFound, "not found", "no such thing", TellModel,
			"Use one of the candidates, or look it up first.", "It was not found.", "未找到。"},
		{OutOfFuel, "out of fuel", "too much work for one call; the same again would fail the same", TellModel,
			"Ask for less at a time.", "This was too much work for one step.", "单次操作计算量过大。"},
		{OutOfMemory, "out of memory", "too much memory for one call; the same again would fail the same", TellModel,
			"Ask for less at a time.", "This was too much data for one step.", "单次操作数据量过大。"},
		{OutputLimit, "output limit", "more output than the call may give", TellModel,
			"Ask for a smaller part.", "The result was too large.", "结果过大。"},
		{QuotaReached, "quota reached", "too many keys, bytes or host calls in one call", TellModel,
			"Ask for less at a time.", "This was too much for one step.", "单次操作数量过多。"},
		{BadArtifact, "bad artifact", "a file that the call says it wrote is not there, is empty or does not parse", TellModel,
			"Nothing of this was kept. Correct what the reason names, and call again.", "The file that was to be made is not right; nothing was changed.", "生成的文件不符合要求，未做任何修改。"},
		{SkillRefused, "refused by the skill", "the skill refuses with a code of its own", TellModel,
			"Try another way within the rules, or tell the user why not.", "The shop refused this.", "业务拒绝了该操作。"},

		{BadArguments, "bad arguments", "arguments that do not fit", Repair,
			"Correct the arguments and call again.", "The request could not be understood.", "请求参数有误。"},
		{NotJSON, "not JSON", "the arguments are not JSON", Repair,
			"Send the arguments as one JSON object.", "The request could not be understood.", "请求参数有误。"},
		{WrongType, "wrong type", "an argument of another type", Repair,
			"Send the type that the schema asks for.", "The request could not be understood.", "请求参数有误。"},
		{Missing, "missing", "a required argument is missing", Repair,
			"Ask the user for what is missing; do not invent it.", "Something is missing.", "缺少必要信息。"},
		{UnknownTool, "unknown tool", "no such tool", TellModel,
			"Use a tool from the list.", "The assistant asked for something that does not exist.", "请求的能力不存在。"},
		{OutOfScope, "out of scope", "not this tool's business", TellModel,
			"Use another tool, or tell the user that this cannot be done here.", "This cannot be done here.", "该请求不在当前能力范围内。"},
		{InputLimit, "input limit", "arguments larger than the call may take", TellModel,
			"Send less at a time.", "The request was too large.", "请求过大。"},
		{BadValue, "bad value", "a value outside enum, range, pattern or length", Repair,
			"Choose a value that the schema allows.", "A value is not valid.", "参数取值无效。"},
		{UnknownField, "unknown field", "an argument that the schema does not have", Repair,
			"Leave it out or use the right name.", "The request could not be understood.", "请求参数有误。"},
		{BadHostCall, "bad host call", "the skill gave a host function something malformed", TellModel,
			"Try other arguments.", "The skill made a mistake.", "技能内部错误。"},
		{NotGranted, "not granted", "the skill asked for what its manifest does not declare", TellModel,
			"This skill cannot do that. Use another one.", "The skill tried something that it may not do.", "技能越权，已阻止。"},
		{CutOff, "cut off", "the model's output ended inside the arguments", TellModel,
			"Your call was cut off and was not executed. Send it again, whole and shorter.", "The assistant's message was cut off.", "助手消息不完整。"},
		{AmbiguousTool, "ambiguous tool", "the name fits several tools", TellModel,
			"Use one of the candidates.", "The assistant's request was not clear.", "请求的能力不明确。"},
		{ClosedAddress, "closed address", "the skill asked for a host at an address that is not public", TellModel,
			"This skill cannot reach that host. Use another one, or tell the user.", "A skill tried to reach a closed network address.", "技能访问了未开放的网络地址，已阻止。"},

		{SystemFailure, "system failure", "the host could not, for a passing reason", Retry,
			"It failed after several tries. Tell the user, or try again later.", "Something failed. Please try again later.", "系统异常，请稍后再试。"},
		{Deadline, "deadline", "the call took too long", Retry,
			"It took too long after several tries. Ask for less, or try again later.", "It took too long.", "操作超时。"},
		{Unavailable, "unavailable", "a service that the skill needs does not answer", Retry,
			"The service does not answer after several tries. Tell the user, or try again later.", "A service does not answer.", "服务暂不可用。"},
		{StoreConflict, "store conflict", "another call changed what this one had read", Retry,
			"Others are changing the same data. Read it again, then decide.", "The data changed in the meantime.", "数据已被修改，请重试。"},
		{StoreFailure, "store failure", "the store could not be read or written", Retry,
			"Nothing was changed. Tell the user, or try again later.", "The data store does not answer.", "存储服务异常。"},
		{Busy, "busy", "another replica works on this session", Retry,
			"The session is busy. Try again.", "This session is busy elsewhere.", "会话正在其他设备处理中。"},
		{ModelUnavailable, "model unavailable", "the model cannot be reached", Retry,
			"", "The assistant cannot be reached right now.", "助手暂时无法连接。"},
		{ModelInterrupted, "model interrupted", "the model stopped in the middle of its answer", Retry,
			"", "The assistant was interrupted.", "助手的回答中断了。"},
		{RegistryFailure, "registry failure", "the registry cannot be reached or read", Retry,
			"The skill cannot be loaded now. Use another one.", "A skill cannot be loaded right now.", "技能暂时无法加载。"},
		{ModelUnauthorised, "model unauthorised", "the model refuses the key", Stop,
			"", "The assistant is not set up: the model refused the key.", "模型密钥无效。"},
		{ModelRejected, "model rejected", "the model refuses the request", Stop,
			"", "The assistant could not process this request.", "模型无法处理该请求。"},

		{Broken, "broken", "broken, without a code of its own", Stop,
			"This tool is broken. Do not call it again.", "A skill is broken; it was stopped.", "技能异常，已停止。"},
		{Trap, "trap", "the guest trapped or its handler panicked", Stop,
			"This tool is broken. Do not call it again.", "A skill crashed; nothing was changed.", "技能崩溃，未做任何修改。"},
		{CorruptModule, "corrupt module", "not WebAssembly, truncated or invalid", Stop,
			"This tool is broken. Do not call it again.", "A skill is damaged.", "技能文件损坏。"},
		{BrokenContract, "broken contract", "the skill answered with something that is not an envelope", Stop,
			"This tool is broken. Do not call it again.", "A skill is broken; nothing was changed.", "技能异常，未做任何修改。"},
		{BrokenOutput, "broken output", "data that breaks the tool's output schema", Stop,
			"This tool is broken. Do not call it again.", "A skill gave an invalid result; nothing was changed.", "技能返回无效结果，未做任何修改。"},
		{GuestExit, "guest exit", "the guest ended its process or returned non-zero", Stop,
			"This tool is broken. Do not call it again.", "A skill stopped unexpectedly; nothing was changed.", "技能异常退出，未做任何修改。"},
		{UnknownImport, "unknown import", "the module imports what the host does not have", Stop,
			"This tool cannot be loaded.", "A skill does not fit this host.", "技能与宿主不兼容。"},
		{MissingExport, "missing export", "the module lacks an export of the contract", Stop,
			"This tool cannot be loaded.", "A skill does not fit this host.", "技能与宿主不兼容。"},
		{ModuleTooLarge, "module too large", "larger than a module may be", Stop,
			"This tool cannot be loaded.", "A skill is too large.", "技能文件过大。"},
		{DigestMismatch, "digest mismatch", "not the bytes that were published", Stop,
			"This tool cannot be loaded.", "A skill was tampered with or damaged.", "技能文件校验失败。"},
		{InvalidManifest, "invalid manifest", "skill.yaml cannot be used", Stop,
			"This tool cannot be loaded.", "A skill is not valid.", "技能清单无效。"},
		{InvalidRegistry, "invalid registry", "not a registry, or a release that is not one", Stop,
			"This tool cannot be loaded.", "The skill registry is not valid.", "技能仓库无效。"},
		{HostBug, "host bug", "the host broke a promise of its own", Stop,
			"Do not call it again.", "An internal error occurred.", "内部错误。"},
		{Contradicted, "contradicted", "data that do not agree with what was asked for, or with what is known", Stop,
			"This result is wrong, and nothing of it was kept. Do not say that it was done, and do not call this tool again.", "A skill's result does not agree with what was asked for; nothing was changed.", "技能返回的结果与请求或已知数据不符，未做任何修改。"},
	}
}
