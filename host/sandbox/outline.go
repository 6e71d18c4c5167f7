package sandbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/tetratelabs/wazero/api"
)

// An outline is what loading must know of a module before the engine sees it.
//
// The engine validates; this reader is there for what the engine would not
// survive or not name. The engine makes room for as many items as a module says
// it has, so a module of fifty bytes could take all memory: here every count is
// held against the bytes that are there.
type outline struct {
	imports     []imported
	memoryPages uint64 // of the module's own memory, at the start
	tableItems  uint64 // of all tables, at the start
}

// An imported is one import.
type imported struct {
	module, name string
	kind         byte
	signature    signature // of a function
}

// Kinds of imports.
const (
	kindFunction = iota
	kindTable
	kindMemory
	kindGlobal
	kindTag
)

// A signature is the type of a function.
type signature struct{ params, results []api.ValueType }

// String gives the signature as "(i64) -> (i32)".
func (s signature) String() string {
	return fmt.Sprintf("(%s) -> (%s)", typeNames(s.params), typeNames(s.results))
}

func typeNames(types []api.ValueType) string {
	text := ""
	for i, t := range types {
		if i > 0 {
			text += ", "
		}
		text += api.ValueTypeName(t)
	}
	return text
}

// readOutline reads all of a module. The error says what the bytes are
// instead, or which feature they need.
func readOutline(wasm []byte) (outline, error) {
	r := reader{b: wasm}
	if err := r.header(); err != nil {
		return outline{}, err
	}
	var o outline
	var functionTypes []signature
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		body := r.sub()
		switch id {
		case 0:
			body.custom()
		case 1:
			functionTypes = body.functionTypes()
		case 2:
			o.imports = body.imports(functionTypes)
		case 3:
			body.count() // functions: an index each
		case 4:
			o.tableItems = body.tables()
		case 5:
			o.memoryPages = body.memories()
		case 6:
			body.globals()
		case 7:
			body.exports()
		case 9:
			body.elements()
		case 10:
			body.bodies()
		case 11:
			body.data()
		}
		if r.err == nil && body.err != nil {
			return outline{}, body.err
		}
	}
	return o, r.err
}

// fits says why a module cannot start within its limits, or nil.
func (o outline) fits(l abi.Limits) *abi.Problem {
	const pointer = 8
	used := o.memoryPages*uint64(abi.PageBytes) + o.tableItems*pointer
	if used > uint64(l.Memory) {
		return abi.NewProblem(abi.OutOfMemory, "the module starts with %d bytes of memory and tables; limits.memory allows %d (%v)", used, int64(l.Memory), l.Memory)
	}
	return nil
}

// namesFrom gives the imports from a namespace, sorted, each once.
func (o outline) namesFrom(namespace string) []string {
	var names []string
	for _, im := range o.imports {
		if im.module == namespace {
			names = append(names, im.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// header tells a core module from everything else that people have by mistake.
func (r *reader) header() error {
	switch h := r.take(8); {
	case len(h) < 8 || string(h[:4]) != "\x00asm":
		return errors.New("it is not WebAssembly")
	case h[4] == 1 && h[5] == 0 && h[6] == 0 && h[7] == 0:
		return nil
	case h[6] == 1:
		return errors.New("it is a WebAssembly component; build a core module (Rust: --target wasm32-wasip1, Go: GOOS=wasip1)")
	default:
		return fmt.Errorf("it is WebAssembly version %d; build version 1", h[4])
	}
}
