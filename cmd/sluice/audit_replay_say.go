package main

import (
	"fmt"

	"github.com/sluicehq/sluice/host/dispatch"
)

// replayVerdict names a verdict for people.
func (s speaker) replayVerdict(v dispatch.ReplayVerdict) string {
	if !s.zh {
		return string(v)
	}
	names := map[dispatch.ReplayVerdict]string{
		dispatch.ReplaySame: "一致", dispatch.ReplayPart: "部分可比且一致", dispatch.ReplayNothing: "无可重放",
		dispatch.ReplayLost: "已缺失", dispatch.ReplayParted: "不一致",
	}
	if name, ok := names[v]; ok {
		return name
	}
	return string(v)
}

// finding tells why a replay is not simply the same.
func (s speaker) finding(f dispatch.ReplayFinding) string {
	if !s.zh {
		return f.String()
	}
	text := s.zhFinding(f)
	if f.Reducer {
		return "归约器：" + text
	}
	return text
}

func (s speaker) zhFinding(f dispatch.ReplayFinding) string {
	switch f.Reason {
	case dispatch.AtHostCall, dispatch.RecordingCut, dispatch.OwnClock:
		return s.zhAlong(f)
	case dispatch.OtherOutput:
		return fmt.Sprintf("输出字节不同：sha256 %s，记录为 %s", f.Got, f.Wanted)
	case dispatch.OtherFuel:
		return fmt.Sprintf("消耗燃料 %s，记录为 %s", f.Got, f.Wanted)
	case dispatch.OtherEnd:
		return fmt.Sprintf("结束代码为 %s，记录为 %s（0 表示无）", f.Got, f.Wanted)
	case dispatch.OtherAnswer:
		return fmt.Sprintf("记录中的 %s 与技能给出的不符：记录为 %s，实际给出 %s", f.What, f.Wanted, f.Got)
	case dispatch.OtherUsage:
		return fmt.Sprintf("各次运行共消耗燃料 %s，而调用记录为 %s", f.Got, f.Wanted)
	case dispatch.OtherInput:
		return fmt.Sprintf("录下的输入不属于这次调用：其 %s 为 %s，记录为 %s", f.What, f.Got, f.Wanted)
	case dispatch.OtherRecording:
		return "录制内容已被改动：" + f.What
	case dispatch.OtherModule:
		return fmt.Sprintf("%s 的模块字节与当时运行的不同：sha256 %s，记录为 %s", f.What, f.Got, f.Wanted)
	case dispatch.OtherState:
		return "由记录得出的状态与归约器当时所见不符：" + f.What
	case dispatch.StoppedByClock, dispatch.StoppedByHost:
		return fmt.Sprintf("直到首次运行被外部以代码 %s 中止处均一致；中止的位置无法重现", f.Wanted)
	case dispatch.NoDigests:
		return "宿主调用与答复一致；输出摘要与燃料没有记录"
	case dispatch.StateUnknown:
		return "归约器当时失败，其所见状态没有记录"
	}
	return s.zhAbsent(f)
}

func (s speaker) zhAlong(f dispatch.ReplayFinding) string {
	p := f.Parting
	switch {
	case f.Reason == dispatch.OwnClock && p == nil:
		return "该技能自有时钟或随机数，未被记录，运行有差异：" + f.What
	case f.Reason == dispatch.OwnClock:
		return fmt.Sprintf("该技能自有时钟或随机数，未被记录，运行在第 %d 次宿主调用处有差异", p.Call)
	case f.Reason == dispatch.RecordingCut:
		return fmt.Sprintf("前 %d 次宿主调用一致，录制到此截断", p.Recorded)
	case p.Got == "":
		return fmt.Sprintf("在第 %d 次宿主调用处分岔：记录为 %s，而技能在 %d/%d 次后已结束", p.Call, p.Wanted, p.Call-1, p.Recorded)
	case p.Wanted == "":
		return fmt.Sprintf("在第 %d 次宿主调用处分岔：记录共 %d 次，而技能又请求 %s", p.Call, p.Recorded, p.Got)
	}
	return fmt.Sprintf("在第 %d/%d 次宿主调用处分岔：记录为 %s（请求 sha256 %s），技能请求 %s（%s）", p.Call, p.Recorded, p.Wanted, p.WantedSHA256, p.Got, p.GotSHA256)
}

func (s speaker) zhAbsent(f dispatch.ReplayFinding) string {
	switch f.Reason {
	case dispatch.NeverRan:
		return "从未运行：没有调用技能"
	case dispatch.NotEnded:
		return "没有结束记录：仍在运行，或主机已中断"
	case dispatch.NotKept:
		return "其宿主调用未保存：" + f.What
	case dispatch.StoredAnswer:
		return "以 " + f.Wanted + " 的已存结果答复；请重放那次调用"
	case dispatch.ReleaseGone:
		return "无法取得其版本：" + f.What
	case dispatch.RecordingGone:
		return "无法取得其录制内容：" + f.What
	case dispatch.RecordErased:
		return "其记录已被抹除"
	}
	return "其记录无法读取：" + f.What
}
