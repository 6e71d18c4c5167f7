package wire

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi/value"
)

// A TypeError is a JSON value that does not fit the Go type that it is read
// into.
type TypeError struct {
	Value string       // what it is: "array", "number -5"
	Type  reflect.Type // what it should fit
	Field string       // the names of the fields that lead to it, joined by dots; lists do not count
}

// Error gives the error as encoding/json words it, without the struct's name.
func (e *TypeError) Error() string {
	if e.Field != "" {
		return "json: cannot unmarshal " + e.Value + " into Go struct field " + e.Field + " of type " + e.Type.String()
	}
	return "json: cannot unmarshal " + e.Value + " into Go value of type " + e.Type.String()
}

// An UnknownFieldError is a member that UnmarshalStrict found no field for.
type UnknownFieldError struct{ Name string }

// Error gives the error as encoding/json words it.
func (e *UnknownFieldError) Error() string { return "json: unknown field " + strconv.Quote(e.Name) }

// An OwnFormError is what a type's own MarshalJSON or MarshalText failed with.
type OwnFormError struct {
	Type   reflect.Type
	Method string
	Cause  error
}

// Error names the method and the type.
func (e *OwnFormError) Error() string {
	return "json: error calling " + e.Method + " for type " + e.Type.String() + ": " + e.Cause.Error()
}

// Unwrap gives the method's error.
func (e *OwnFormError) Unwrap() error { return e.Cause }

// AsTypeError gives the *TypeError that err is or wraps, or nil. One of
// encoding/json, which a type's own UnmarshalJSON may give, counts too.
func AsTypeError(err error) *TypeError {
	for ; err != nil; err = unwrap(err) {
		if e, ok := err.(*TypeError); ok {
			return e
		}
		if e := foreignTypeError(err); e != nil {
			return e
		}
	}
	return nil
}

// IsSyntax reports whether err is or wraps ErrSyntax or a *json.SyntaxError,
// which a type's own UnmarshalJSON may give.
func IsSyntax(err error) bool {
	for ; err != nil; err = unwrap(err) {
		if t := reflect.TypeOf(err); err == ErrSyntax || t.Kind() == reflect.Pointer && isNamed(t.Elem(), "SyntaxError") {
			return true
		}
	}
	return false
}

// unwrap is errors.Unwrap; errors.As would link more than the codec does.
func unwrap(err error) error {
	if w, ok := err.(interface{ Unwrap() error }); ok {
		return w.Unwrap()
	}
	return nil
}

// AsTimeError gives the text that a *time.ParseError, which time.Time's own
// UnmarshalJSON gives, is about. It is known by its name, so that this package
// does not link package time.
func AsTimeError(err error) (text string, ok bool) {
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem().Name() != "ParseError" || v.Type().Elem().PkgPath() != "time" {
		return "", false
	}
	for i := range v.Elem().NumField() {
		if v.Elem().Type().Field(i).Name == "Value" {
			return v.Elem().Field(i).String(), true
		}
	}
	return "", false
}

// foreignTypeError gives what a *json.UnmarshalTypeError says, or nil. It is
// known by its name, so that this package does not link encoding/json.
func foreignTypeError(err error) *TypeError {
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Pointer || v.IsNil() || !isNamed(v.Type().Elem(), "UnmarshalTypeError") {
		return nil
	}
	e := &TypeError{}
	for i := range v.Elem().NumField() {
		switch to := value.Interface(v.Elem().Field(i)).(type) {
		case reflect.Type:
			e.Type = to
		case string:
			switch v.Elem().Type().Field(i).Name {
			case "Value":
				e.Value = to
			case "Field":
				e.Field = to
			}
		}
	}
	if e.Type == nil {
		return nil
	}
	return e
}

// located adds where the decoder is to an error about a type.
func located(err error, path []string) error {
	e, ok := err.(*TypeError)
	if !ok {
		if e = foreignTypeError(err); e == nil {
			return err
		}
	}
	if len(path) > 0 && e.Field != "" {
		path = append(path, e.Field)
	}
	if len(path) > 0 {
		e.Field = strings.Join(path, ".")
	}
	return e
}
