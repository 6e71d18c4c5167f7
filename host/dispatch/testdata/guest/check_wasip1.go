package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

//go:wasmexport sluice_check
func check() int32 { return sdk.Check(verdict) }

// verdict checks orders of a few items and behaves badly for others.
func verdict(c sdk.Call) abi.Verdict {
	var in Order
	if _, err := sdk.Args(c, &in); err != nil {
		return abi.Verdict{} // not an order
	}
	switch in.Item {
	case "lamp":
		return abi.Verdict{Tier: abi.SoftGate, Reason: "A lamp is worth a word."}
	case "safe":
		return abi.Verdict{Tier: abi.HardGate, Reason: "A safe is heavy."}
	case "bomb":
		return abi.Verdict{Tier: abi.Block, Reason: "Never a bomb."}
	case "tiger":
		return abi.Verdict{Problem: sdk.Refuse(abi.NotAllowed, "no tigers").WithHint("order a cat")}
	case "cat":
		return abi.Verdict{Tier: abi.Auto, Reason: "Cats are harmless."}
	case "spell":
		return abi.Verdict{Tier: "magic"}
	case "usurper":
		return abi.Verdict{Problem: abi.NewProblem(abi.HostBug, "not mine to give")}
	case "grenade":
		panic("told to")
	case "clock":
		for i := 0; ; i++ {
			_ = i
		}
	case "spy":
		if _, err := count(c, "pen"); err != nil {
			return abi.Verdict{Tier: abi.HardGate, Reason: "I could not look."}
		}
	}
	return abi.Verdict{}
}
