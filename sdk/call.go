package sdk

import (
	"reflect"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
	"github.com/sluicehq/sluice/abi/wording"
)

// A Call is the call that a handler serves. It is a value, valid until the
// handler returns; all host functions take it. It is not for several
// goroutines at once.
type Call struct {
	invocation *invocation
	env        env // what the host functions are reached through
}

// ID gives the call's id; a retry keeps it.
func (c Call) ID() string { return c.invocation.Call.ID }

// Key gives the idempotency key of a write, a UUID: a retry, a resume and a
// redelivery have the same key, a new wish of the user has another. It is
// empty for a read.
func (c Call) Key() string { return c.invocation.Call.Key }

// Attempt counts from 1; a retry has the next number.
func (c Call) Attempt() int { return c.invocation.Call.Attempt }

// Now gives the host's clock at the call's start, in UTC. It does not move
// during the call. Package sdk/clock gives it as a time.Time.
func (c Call) Now() Instant { return c.invocation.Call.Now }

// Tenant gives the id of the merchant or organisation that is served.
func (c Call) Tenant() string { return c.invocation.Call.Tenant }

// Live gives the id of the business occasion, or nothing outside of one.
func (c Call) Live() string { return c.invocation.Call.Live }

// Locale gives the user's language as BCP 47, such as zh-CN, if known.
func (c Call) Locale() string { return c.invocation.Call.Locale }

// FactOf reads a fact that the tool declares into a pointer. It reports false
// where the host has none. The error is a problem that a handler may return as
// it is.
func FactOf(c Call, name string, into any) (found bool, err error) {
	return decodeValue("fact "+name, c.invocation.Facts[name], into)
}

// StateOf reads a key of the session state, as it was when the call began,
// into a pointer. It reports false where there is none or where the skill does
// not declare that it reads the key. The error is a problem that a handler may
// return as it is.
func StateOf(c Call, key string, into any) (found bool, err error) {
	return decodeValue("state "+key, c.invocation.State[key], into)
}

// A Result is what a handler returns that has more to give than its data.
type Result[T any] struct {
	Data    T
	Preview string         // one line for the model, where the data is long
	State   map[string]any // a merge patch (RFC 7396) of state keys that the skill declares it writes
	Action  any            // for the skill's reducer, in place of State; see Reduce
}

func (Result[T]) dataType() reflect.Type { return reflect.TypeFor[T]() }

func (r Result[T]) parts() (any, string, map[string]any) { return r.Data, r.Preview, r.State }

func (r Result[T]) action() any { return r.Action }

// wrapped is implemented by every Result.
type wrapped interface {
	dataType() reflect.Type
	parts() (data any, preview string, state map[string]any)
	action() any
}

// dataType gives the type of the data that a handler with this result gives.
func dataType[Out any]() reflect.Type {
	var out Out
	if w, ok := any(out).(wrapped); ok {
		return w.dataType()
	}
	return reflect.TypeFor[Out]()
}

// Logf writes one line to the skill's log, which operators read and the model
// never sees. The host cuts the log of a call at its limit (64 KiB by default).
func Logf(c Call, format string, args ...any) { log(c, wording.Sprintf(format, args...)) }

// Textf fills the arguments into a format, as Refuse and Logf do: what
// fmt.Sprintf gives but for forms that no message needs, without the 0.4 MB that
// fmt is of a module.
func Textf(format string, args ...any) string { return wording.Sprintf(format, args...) }

func decodeValue(what string, b abi.RawMessage, into any) (bool, error) {
	if len(b) == 0 {
		return false, nil
	}
	if err := wire.Unmarshal(b, into); err != nil {
		return false, abi.NewProblem(abi.SystemFailure, "%s has another form than this skill reads", what)
	}
	return true, nil
}
