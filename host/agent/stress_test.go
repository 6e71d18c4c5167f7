//go:build stress

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// Sizes of one run: about a minute on two cores.
const (
	stressSeeds    = 3
	stressSessions = 6
	stressInputs   = 15 // of each session
	stressItems    = 3
	stressPatience = 200 // deliveries of one input before the test gives up
)

// A clerk is a model without a memory: it makes the calls that the user's last
// words list, one answer after the other, and then says so.
type clerk struct{}

func (clerk) Complete(ctx context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
	if ctx.Err() != nil {
		return model.Reply{}, host.Fail("clerk", host.ProblemOf(ctx.Err()), ctx.Err())
	}
	asked := len(req.Messages) - 1
	given := 0
	for ; req.Messages[asked].Role != model.RoleUser; asked-- {
		if req.Messages[asked].Role == model.RoleAssistant {
			given++
		}
	}
	answers := strings.Split(req.Messages[asked].Text, "\n")
	if given == len(answers) {
		return model.Reply{Text: "done", Finish: model.FinishStop}, nil
	}
	return calls(strings.Split(answers[given], "; ")...)()
}

// TestStressEveryInputIsAnsweredOnce lets sessions talk on two replicas with
// one store file, while callers go away in the middle and deliver again, to
// either replica or to both at once. In the end every input has one answer,
// every call one result, and what the model was told as done is what the store
// holds.
func TestStressEveryInputIsAnsweredOnce(t *testing.T) {
	for seed := range uint64(stressSeeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { newStress(t, seed).run() })
	}
}

type stress struct {
	t        *testing.T
	seed     uint64
	store    *state.Store
	replicas []*Agent

	mu   sync.Mutex
	ends map[string]int // of deliveries; guarded by mu
}

func newStress(t *testing.T, seed uint64) *stress {
	s := &stress{t: t, seed: seed, ends: map[string]int{}}
	path := filepath.Join(t.TempDir(), "store.db")
	set := newSet(t, nil)
	for range 2 {
		store, err := state.Open(context.Background(), path, state.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		s.store = store
		s.replicas = append(s.replicas, New(Config{Store: store, Releases: set, Model: clerk{}, Claims: ClaimsOff, // it says "done" whatever happened
			Dispatch: dispatch.New(dispatch.Config{
				Config: grant.Config{Store: store}, Breaker: dispatch.BreakerReports, // what the clerk orders is chance, and may well repeat itself
				Approver: func(context.Context, dispatch.Question) bool { return true },
			})}))
	}
	return s
}

func (s *stress) run() {
	var sessions sync.WaitGroup
	for i := range stressSessions {
		sessions.Go(func() { s.session(i) })
	}
	sessions.Wait()
	sums := map[string]int{}
	for i := range stressSessions {
		s.check(refOf(i), sums)
	}
	for item, want := range sums {
		value, _, err := s.store.View(session.Ref.Tenant, "test").Get(context.Background(), "total/"+item)
		if err != nil {
			s.t.Fatal(err)
		}
		if got, _ := strconv.Atoi(string(value)); got != want {
			s.t.Errorf("%d of %s are ordered, the conversations have %d", got, item, want)
		}
	}
	s.t.Logf("deliveries ended as %v, the store has %v", s.ends, sums)
}

func refOf(n int) host.SessionRef {
	return host.SessionRef{Tenant: session.Ref.Tenant, User: "mia", Session: host.SessionID(fmt.Sprint("s", n))}
}

func (s *stress) session(n int) {
	random := rand.New(rand.NewPCG(s.seed, uint64(n)))
	for input := range stressInputs {
		in := Input{ID: host.InputID(fmt.Sprint("in", input)), Text: words(random)}
		for delivery := 0; ; delivery++ {
			if delivery == stressPatience {
				s.t.Errorf("session %d: input %d has no answer after %d deliveries", n, input, delivery)
				return
			}
			if s.deliver(random, refOf(n), in) {
				break
			}
		}
	}
}

// words lists calls: reads and writes, some twice, some bad.
func words(random *rand.Rand) string {
	var answers []string
	for range 1 + random.IntN(3) {
		var list []string
		for range 1 + random.IntN(4) {
			item := fmt.Sprint("i", random.IntN(stressItems))
			switch random.IntN(6) {
			case 0, 1:
				list = append(list, fmt.Sprintf(`total {"item":%q}`, item))
			case 2:
				list = append(list, `order_once {"item":"sold out","count":1}`)
			case 3:
				list = append(list, `order_once {"item":1}`)
			default:
				list = append(list, fmt.Sprintf(`order_once {"item":%q,"count":%d}`, item, 1+random.IntN(3)))
			}
		}
		answers = append(answers, strings.Join(list, "; "))
	}
	return strings.Join(answers, "\n")
}

// deliver delivers an input, to callers of different patience, and reports
// whether it was answered.
func (s *stress) deliver(random *rand.Rand, ref host.SessionRef, in Input) bool {
	patience := time.Minute
	if random.IntN(2) == 0 {
		patience = time.Duration(random.IntN(300)) * time.Millisecond
	}
	at := []int{random.IntN(2)}
	if random.IntN(4) == 0 {
		at = []int{0, 1}
	}
	answered := make([]bool, 2)
	var wait sync.WaitGroup
	for _, replica := range at {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			answer, err := s.replicas[replica].Turn(ctx, Session{Ref: ref, Locale: "en"}, in, nil)
			answered[replica] = err == nil
			s.count(answer, err)
		})
	}
	wait.Wait()
	return answered[0] || answered[1]
}

func (s *stress) count(answer Answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.ends[fmt.Sprint(int(host.ProblemOf(err).Code))]++
	case answer.Repeated:
		s.ends["repeated"]++
	default:
		s.ends[string(answer.Reason)]++
	}
	if err == nil && answer.Text != "done" {
		s.t.Errorf("an answer is %+v", answer)
	}
}

// check holds a conversation against its own rules, and adds up what it says
// was ordered.
func (s *stress) check(ref host.SessionRef, sums map[string]int) {
	t := s.replicas[0].newTurn(Session{Ref: ref}, nil, nil)
	t.ref = ref
	if err := t.find(context.Background(), s.store, ""); err != nil {
		s.t.Fatal(err)
	}
	if err := t.load(context.Background(), s.store); err != nil {
		s.t.Fatal(err)
	}
	inputs := 0
	for i, m := range t.messages {
		if m.Role == model.RoleUser {
			inputs++
		}
		for index, c := range m.Calls {
			at := i + 1 + index
			if at >= len(t.messages) || t.messages[at].Role != model.RoleTool || t.messages[at].CallID != c.ID {
				s.t.Fatalf("%s: call %d of message %d has no result: %+v", ref, index, i, m)
			}
			if c.Tool == "order_once" && t.messages[at].OK && !s.replayed(t, i, index) {
				var order struct {
					Item  string
					Count int
				}
				if err := json.Unmarshal([]byte(c.Args), &order); err != nil {
					s.t.Fatal(err)
				}
				sums[order.Item] += order.Count
			}
			if c.Tool == "order_once" && strings.Contains(t.messages[at].Text, fmt.Sprint(`"code":`, int(abi.OutcomeUnknown))) {
				s.t.Errorf("%s: nobody knows what became of %s", ref, c.Args)
			}
		}
	}
	if inputs != stressInputs {
		s.t.Errorf("%s has %d inputs, want %d", ref, inputs, stressInputs)
	}
}

// replayed reports whether a call is the same write as an earlier one of the
// same message that succeeded: it is done once. Where the earlier one failed,
// after too many conflicts, say, the later one does it.
func (s *stress) replayed(t *turn, message, index int) bool {
	list := t.messages[message].Calls
	for i, earlier := range list[:index] {
		if earlier.Tool == list[index].Tool && earlier.Args == list[index].Args && t.succeeded(t.first+message, i) {
			return true
		}
	}
	return false
}
