package sdk

import (
	"reflect"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
	"github.com/sluicehq/sluice/abi/wording"
)

// Reduce declares the reducer of the skill: a pure function that makes the
// session's new state from the state and an action, which a handler gives as
// its Result's Action. A skill has one at most.
//
//	type Show struct {
//		Current *Product `json:"live.current"`
//	}
//
//	var _ = sdk.Reduce(func(s Show, a Put) (Show, error) {
//		s.Current = &a.Product
//		return s, nil
//	})
//
// State is a struct whose JSON names are state keys that the skill declares
// with StateAccess: it finds those that it reads or writes, and may change
// those that it writes. A key that does not exist leaves its field at zero. A
// field that comes back as it came leaves its key as it was, to the byte, also
// where the type does not hold all of it; one that becomes null, or is left out
// by omitempty, removes it. State may also be a map with text keys.
//
// The host runs the function on the state as it is when the call is settled,
// and again whenever it rebuilds a session from its records, on any machine: it
// must give the same for the same. It has no clock (time.Now stands still), no
// random numbers and no host functions; what it needs of those the handler
// writes into the action. A problem with a 3xxx or 4xxx code refuses the action
// and with it the call; any other error, and a panic, ends the call as broken.
// Nothing of the call is kept then.
func Reduce[State, Action any](reduce func(State, Action) (State, error)) Declared {
	before := declared.reducer.count
	declared.reducer = newReducer(reduce)
	declared.reducer.count += before
	return Declared{}
}

// A reducer is what Reduce declared. All that it needs is reached through
// serve, so that a skill without one has none of it in its module.
type reducer struct {
	count   int // how often Reduce was called
	state   reflect.Type
	missing bool                                             // the function is nil
	serve   func(input []byte, e env) ([]byte, *abi.Problem) // nil without a reducer
}

func newReducer[State, Action any](reduce func(State, Action) (State, error)) reducer {
	r := reducer{count: 1, state: reflect.TypeFor[State](), missing: reduce == nil}
	wire.Prepare(r.state)
	wire.Prepare(reflect.TypeFor[Action]())
	r.serve = func(input []byte, e env) ([]byte, *abi.Problem) {
		return serveReduction(input, e, func(state, action []byte) (before, after []byte, err error) {
			var s State
			var a Action
			if err := readReduced(state, action, &s, &a); err != nil {
				return nil, nil, err
			}
			if before, err = encode(s); err != nil { // first: the function may change what s points to
				return nil, nil, err
			}
			if s, err = reduce(s, a); err != nil {
				return nil, nil, err
			}
			after, err = encode(s)
			return before, after, err
		})
	}
	return r
}

// describe marks the manifest, and gives what is wrong with the declaration.
func (r reducer) describe(m *abi.Manifest) (faults []string) {
	m.Reducer = r.count > 0
	if !m.Reducer {
		return nil
	}
	if r.count > 1 {
		faults = append(faults, "sdk.Reduce is called several times; a skill has one reducer")
	}
	if r.missing {
		faults = append(faults, "the reducer is nil")
	}
	access := m.Capabilities.State
	if access == nil || len(access.Writes) == 0 {
		return append(faults, "the reducer may change no state; declare what it writes with sdk.StateAccess")
	}
	if r.state.Kind() != reflect.Struct && r.state.Kind() != reflect.Map {
		return append(faults, "the reducer's state "+r.state.String()+" is not a struct; its fields are state keys")
	}
	return append(faults, undeclaredKeys(r.state, access)...)
}

// undeclaredKeys says which state keys a reducer's struct names in vain.
func undeclaredKeys(t reflect.Type, access *abi.StateAccess) (faults []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	s, err := (&schemaWriter{}).of(t)
	if err != nil {
		return []string{"the reducer's state: " + err.Error()}
	}
	for _, p := range s.Properties {
		if !access.MayRead(p.name) && !access.MayWrite(p.name) {
			faults = append(faults, "the reducer's state has the key "+quote(p.name)+", which sdk.StateAccess does not declare")
		}
	}
	return faults
}

// serveReduction serves one abi.Reduction: it gives the keys whose values have
// changed, or a problem. A panic becomes one; its value and stack go to the log
// only.
func serveReduction(input []byte, e env, run func(state, action []byte) (before, after []byte, err error)) (changed []byte, problem *abi.Problem) {
	c := Call{env: e}
	defer func() {
		if v := recover(); v != nil {
			log(c, wording.Sprintf("panic: %v\n%s", v, stack()))
			changed, problem = nil, abi.NewProblem(abi.Trap, "the reducer panicked")
		}
	}()
	state, action, problem := readReduction(input)
	if problem != nil {
		return nil, problem
	}
	before, after, err := run(state, action)
	if err != nil {
		return nil, reduceProblem(c, err)
	}
	return changedMembers(before, after), nil
}

// readReduction reads an abi.Reduction as readInvocation reads an invocation.
func readReduction(b []byte) (state, action []byte, problem *abi.Problem) {
	version := 0
	valid := wire.Valid(b) && eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "abi"):
			return readInt(&version, value)
		case wire.Named(name, "state"):
			state = value
		case wire.Named(name, "action"):
			action = value
		}
		return true
	})
	switch {
	case !valid || state == nil || action == nil:
		return nil, nil, abi.NewProblem(abi.NotJSON, "the reduction is not an envelope that this skill reads")
	case version != abi.Version:
		return nil, nil, abi.NewProblem(abi.BadArguments, "the reduction has version %d of the contract; this skill speaks version %d", version, abi.Version)
	}
	return state, action, nil
}

// readReduced reads what a reducer gets. The action is the skill's own, so one
// that does not fit is a fault of its code.
func readReduced(state, action []byte, s, a any) error {
	if err := wire.Unmarshal(state, s); err != nil {
		return abi.NewProblem(abi.Conflict, "the state has another form than this skill's reducer reads")
	}
	if err := wire.UnmarshalStrict(action, a); err != nil {
		return abi.NewProblem(abi.Trap, "the action is not one that this skill's reducer takes")
	}
	return nil
}

// reduceProblem gives what the host is told about a reducer's error. To try
// again would give the same.
func reduceProblem(c Call, err error) *abi.Problem {
	p, ok := asProblem(err)
	if ok && p != nil && p.Code.OfSkill() && p.Code.Class() != abi.ClassSystem {
		return p
	}
	if ok && p == nil {
		log(c, "error: the reducer returned a nil *abi.Problem as its error")
	} else {
		log(c, "error: "+err.Error())
	}
	return abi.NewProblem(abi.Trap, "the reducer failed")
}

// changedMembers gives the object of those members that are not in both
// objects with the same value; one that is gone is null.
func changedMembers(before, after []byte) []byte {
	old := map[string][]byte{}
	for name, value := range wire.Members(before) {
		old[string(name)] = value
	}
	out := []byte{'{'}
	add := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(wire.AppendText(out, name), ':'), value...)
	}
	for name, value := range wire.Members(after) {
		if was, there := old[string(name)]; !there || string(was) != string(value) {
			add(string(name), value)
		}
		delete(old, string(name))
	}
	var gone []string
	for name := range old {
		gone = append(gone, name)
	}
	slices.Sort(gone) // equal input gives equal output
	for _, name := range gone {
		add(name, []byte("null"))
	}
	return append(out, '}')
}
