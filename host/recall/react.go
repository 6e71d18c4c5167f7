package recall

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// react keeps what a message says that the user does with the answer right before it in
// the session, if that is a decision. Of one whose end is not kept nobody can tell what the
// message is about. It may be repeated.
func (r *Recall) react(ctx context.Context, m memory.Message) error {
	input, err := strconv.Atoi(string(m.Input))
	if err != nil || input < 2 || !r.decides(m.Tenant) {
		return nil
	}
	o := keeper.Owner{Tenant: m.Tenant, User: m.User}
	shown, err := r.Keeper.ShownIn(ctx, o, m.Session, host.InputID(fmt.Sprint(input-1)))
	if err != nil || len(shown) != 1 || len(shown[0].Output) > maxOutputBytes-utf8.UTFMax {
		return err
	}
	action, alternative, ok := memory.ReadReaction(m.Text, shown[0].Output)
	if !ok {
		return nil
	}
	_, err = r.Keeper.ActHeard(ctx, o, shown[0].ID, action, alternative, m.Input)
	if codeOf(err) == abi.NotFound { // forgotten meanwhile
		return nil
	}
	return err
}

// complete asks the model for the parts that a recommendation in what it said lacks, once
// in a turn: it may give another answer, and that one passes as it is. So does the answer
// after one that another guard withheld, since the model is asked no third time.
func (r *Recall) complete(q host.Reasoning, t *turn, said string) host.Opinion {
	if t.form != memory.Recommend {
		return host.Opinion{}
	}
	missing := memory.MissingParts(said)
	if len(missing) == 0 {
		return host.Opinion{}
	}
	o := host.Opinion{Note: "the recommendation lacks: " + strings.Join(missing, ", ")}
	if t.reminded || t.shown != nil {
		return o
	}
	r.know(q, func(of *turn) { of.reminded = true })
	o.Problem = abi.NewProblem(abi.Refused, "a recommendation in %s comes with a counter-example, an alternative and a confidence; this one lacks: %s", t.at.Domain, strings.Join(missing, ", ")).
		WithHint("give it again, with what the record has for these; say so where it has nothing")
	o.Instead = memory.Incomplete(missing, localeIn(q, cmp.Or(t.words, q.Serves)))
	return o
}
