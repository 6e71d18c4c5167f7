//go:build !wasip1 && !sluice_guest

package value

import "reflect"

// Interface gives what a value holds, as v.Interface does.
func Interface(v reflect.Value) any { return v.Interface() }

// Set stores x, which has the type of v, in v, as v.Set does.
func Set(v, x reflect.Value) { v.Set(x) }

// SetAny stores x in v, whose type is an interface without methods.
func SetAny(v reflect.Value, x any) { v.Set(reflect.ValueOf(x)) }

// SetMapIndex stores an entry in a map, as m.SetMapIndex does; key and item
// have the types of the map's keys and items.
func SetMapIndex(m, key, item reflect.Value) { m.SetMapIndex(key, item) }
