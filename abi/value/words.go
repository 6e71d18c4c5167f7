package value

import (
	"reflect"
	"unsafe"
)

// words is what a reflect.Value consists of.
type words struct {
	typ  unsafe.Pointer
	data unsafe.Pointer // the value, if it is a pointer and not indirect, or where it lies
	flag uintptr
}

// indirect is the flag of a value that lies where data points to.
const indirect = 1 << 7

func wordsOf(v *reflect.Value) *words { return (*words)(unsafe.Pointer(v)) }

// at gives where the value lies.
func (w *words) at() unsafe.Pointer {
	if w.flag&indirect != 0 {
		return w.data
	}
	return unsafe.Pointer(&w.data)
}

// held is what an interface without methods consists of.
type held struct{ typ, data unsafe.Pointer }

func interfaceOf(v reflect.Value) any {
	if v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	w := wordsOf(&v)
	e := held{w.typ, w.data}
	if w.flag&indirect != 0 && isPointer(v.Type()) {
		e.data = *(*unsafe.Pointer)(w.data)
	}
	return *(*any)(unsafe.Pointer(&e))
}

// isPointer reports whether an interface holds values of the type themselves,
// and not where they lie. The zero value tells.
func isPointer(t reflect.Type) bool {
	zero := reflect.Zero(t)
	return wordsOf(&zero).flag&indirect == 0
}

func set(v, x reflect.Value) {
	w := wordsOf(&x)
	typedmemmove(w.typ, unsafe.Pointer(v.UnsafeAddr()), w.at())
}

func setAny(v reflect.Value, x any) { *(*any)(unsafe.Pointer(v.UnsafeAddr())) = x }

func setMapIndex(m, key, item reflect.Value) {
	mapassign(wordsOf(&m).typ, m.UnsafePointer(), wordsOf(&key).at(), wordsOf(&item).at())
}

// What is copied here must lie in the heap, so neither says that its arguments do
// not escape.

//go:linkname typedmemmove reflect.typedmemmove
func typedmemmove(typ, to, from unsafe.Pointer)

//go:linkname mapassign reflect.mapassign
func mapassign(typ, m, key, item unsafe.Pointer)
