package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// An Act is an action of this skill, and the argument of the tools that give it.
type Act struct {
	Add  int    `json:"add,omitempty"`
	Note string `json:"note,omitempty"`
	How  string `json:"how,omitempty"` // a way in which the reducer misbehaves, or something else that it does
}

// A Board is the state that the reducer makes, as far as the type knows it.
type Board map[string]json.RawMessage

var (
	_ = sdk.Reduce(reduce)

	_ = sdk.Tool("act", act, sdk.Summary("Change the score by an action."), sdk.Write, sdk.Targets("['score']"), sdk.Example("one more", Act{Add: 1}))
	_ = sdk.Tool("act_late", act, sdk.Summary("The same, after a fact."), sdk.Write, sdk.Targets("['score']"), sdk.Example("one more", Act{Add: 1}),
		sdk.Fact("pens", abi.FactSpec{Tool: "total", Args: map[string]string{"item": "'pen'"}, At: "total"}))
	_ = sdk.Tool("act_as_a_read", act, sdk.Summary("A read that acts."), sdk.Example("act", Act{Add: 1}))
	_ = sdk.Tool("act_and_patch", actAndPatch, sdk.Summary("Change the state in both ways."), sdk.Write, sdk.Targets("['score']"), sdk.Example("act", Act{Add: 1}))
)

func act(c sdk.Call, in Act) (sdk.Result[Act], error) {
	if in.How == "dirt" {
		if err := sdk.KVPut(c, "dirt", []byte("1")); err != nil {
			return sdk.Result[Act]{}, err
		}
		in.How = "panic"
	}
	return sdk.Result[Act]{Data: in, Action: in}, nil
}

func actAndPatch(_ sdk.Call, in Act) (sdk.Result[Act], error) {
	return sdk.Result[Act]{Data: in, Action: in, State: map[string]any{"goal": in}}, nil
}

func reduce(s Board, a Act) (Board, error) {
	switch a.How {
	case "":
		return s, s.add(a)
	case "nothing":
		return s, nil
	case "clear":
		for key := range s {
			if strings.HasPrefix(key, "score.") {
				delete(s, key)
			}
		}
		return s, nil
	case "undeclared":
		s["secret"] = json.RawMessage("1")
		return s, nil
	case "read only":
		s["rate"] = json.RawMessage("99")
		return s, nil
	case "drop read only":
		delete(s, "rate")
		return s, nil
	case "many":
		for i := range 101 {
			s[fmt.Sprint("score.k", i)] = json.RawMessage("1")
		}
		return s, nil
	}
	return s, misreduce(a)
}

// add adds to the total, and to a log of everything that could differ from run
// to run: the time, random numbers, and the order in which a map is walked.
func (s Board) add(a Act) error {
	total, _ := strconv.Atoi(string(s["score.total"]))
	s["score.total"] = json.RawMessage(strconv.Itoa(total + a.Add))
	walked := ""
	for key := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9} {
		walked += key
	}
	line, err := json.Marshal(fmt.Sprintf("%s %s %d %s %s", a.Note, time.Now().UTC().Format(time.RFC3339Nano), rand.Uint64(), walked, s["rate"]))
	s["score.last"] = line
	return err
}

func misreduce(a Act) error {
	switch a.How {
	case "panic":
		panic("told to")
	case "loop":
		for i := 0; ; i++ {
			_ = i
		}
	case "refuse":
		return sdk.Refuse(abi.OutOfBounds, "no more than %d", a.Add).WithField("add").WithCandidates("1")
	case "unavailable":
		return sdk.Unavailable("nobody there")
	case "verdict":
		return &abi.Problem{Code: abi.PendingApproval, Message: "not mine to give"}
	case "kv":
		_, _, err := sdk.KVGet(sdk.Call{}, "total/pen")
		return err
	}
	return errors.New("a secret of the code")
}
