package sdk

import (
	"strconv"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// The envelopes are read and written by hand: they are in every call, and
// package time would be in every module.

// An invocation is an abi.Invocation as the sdk keeps it.
type invocation struct {
	ABI          int
	Tool         string
	Args         abi.RawMessage
	Call         callInfo
	State, Facts map[string]abi.RawMessage
}

// A callInfo is an abi.CallInfo.
type callInfo struct {
	ID, Key, Tenant, Live, Locale string
	Attempt                       int
	Now                           Instant
}

// readInvocation reads an abi.Invocation as encoding/json would: names in any
// case, unknown members passed over, of two the last, null for nothing. It
// reports false for what is not one.
func readInvocation(b []byte) (*invocation, bool) {
	in := new(invocation)
	if !wire.Valid(b) {
		return in, false
	}
	return in, eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "abi"):
			return readInt(&in.ABI, value)
		case wire.Named(name, "tool"):
			return readText(&in.Tool, value)
		case wire.Named(name, "args"):
			in.Args = value
		case wire.Named(name, "call"):
			return readCall(&in.Call, value)
		case wire.Named(name, "state"):
			return readTable(&in.State, value)
		case wire.Named(name, "facts"):
			return readTable(&in.Facts, value)
		}
		return true
	})
}

func readCall(call *callInfo, b []byte) bool {
	return eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "id"):
			return readText(&call.ID, value)
		case wire.Named(name, "key"):
			return readText(&call.Key, value)
		case wire.Named(name, "attempt"):
			return readInt(&call.Attempt, value)
		case wire.Named(name, "now"):
			return readInstant(&call.Now, value)
		case wire.Named(name, "tenant"):
			return readText(&call.Tenant, value)
		case wire.Named(name, "live"):
			return readText(&call.Live, value)
		case wire.Named(name, "locale"):
			return readText(&call.Locale, value)
		}
		return true
	})
}

// eachMember reads the members of an object until one does not fit. Null has
// none; other values are not objects.
func eachMember(b []byte, read func(name, value []byte) bool) bool {
	switch wire.KindOf(b) {
	case wire.Null:
		return true
	case wire.Object:
		for name, value := range wire.Members(b) {
			if !read(name, value) {
				return false
			}
		}
		return true
	}
	return false
}

func readTable(table *map[string]abi.RawMessage, b []byte) bool {
	if wire.KindOf(b) == wire.Null {
		*table = nil
		return true
	}
	if *table == nil {
		*table = map[string]abi.RawMessage{}
	}
	return eachMember(b, func(name, value []byte) bool {
		(*table)[string(name)] = value
		return true
	})
}

func readInt(to *int, b []byte) bool {
	switch wire.KindOf(b) {
	case wire.Null:
		return true
	case wire.Number:
		n, err := strconv.Atoi(string(b))
		*to = n
		return err == nil
	}
	return false
}

func readText(to *string, b []byte) bool {
	switch wire.KindOf(b) {
	case wire.Null:
		return true
	case wire.Text:
		*to = wire.TextOf(b)
		return true
	}
	return false
}

// refusal gives the abi.Reply of a problem.
func refusal(p *abi.Problem) []byte {
	return append(append([]byte(`{"ok":false,"problem":`), encodeProblem(p)...), '}')
}

// replySpace is room for a reply of usual length, so that it is not moved
// while it is written.
const replySpace = 512

// success gives the abi.Reply of what a handler returned.
func success(out any) ([]byte, error) {
	var preview string
	var state map[string]any
	var action any
	if w, ok := out.(wrapped); ok {
		action = w.action()
		out, preview, state = w.parts()
	}
	b, err := wire.Append(append(make([]byte, 0, replySpace), `{"ok":true,"data":`...), out)
	if err != nil {
		return nil, err
	}
	if len(state) > 0 {
		if b, err = wire.Append(append(b, `,"state":`...), state); err != nil {
			return nil, err
		}
	}
	if action != nil {
		if b, err = wire.Append(append(b, `,"action":`...), action); err != nil {
			return nil, err
		}
	}
	if preview != "" {
		b = wire.AppendText(append(b, `,"preview":`...), preview)
	}
	return append(b, '}'), nil
}
