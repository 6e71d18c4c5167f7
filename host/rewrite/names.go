package rewrite

import "strings"

// Names that the rewriter keeps for itself. A guest that imports or exports
// one of them is refused, so that it cannot reach its own fuel.
const (
	// FuelModule is the module from which a metered guest imports FuelFunc.
	FuelModule = "sluice:fuel"

	// FuelFunc is called with the fuel that is left and the stack units that
	// are left, (i64, i64) -> i64, whenever a check finds one of them
	// negative. It gives the fuel to go on with, which must be 0 or more, or
	// panics. Negative stack units mean that the guest calls too deep; then it
	// must panic.
	FuelFunc = "refuel"

	// ReservedPrefix begins every export that the rewriter adds.
	ReservedPrefix = "__sluice_"

	// FuelGlobal is the export of the fuel that is left: a mutable i64, 0 at
	// the start. What was used is what was granted less this.
	FuelGlobal = ReservedPrefix + "fuel"

	// DepthGlobal is the export of the stack units that are left: a mutable
	// i64, MeterOptions.Depth at the start. A host sets it back after a call
	// that did not return.
	DepthGlobal = ReservedPrefix + "depth"

	// MemoryExport is the export of a memory that the guest does not export.
	MemoryExport = ReservedPrefix + "memory"

	// globalPrefix with an index is the export of a mutable global.
	globalPrefix = ReservedPrefix + "g"
)

func isReserved(name string) bool { return strings.HasPrefix(name, ReservedPrefix) }

// Parts of the name section.
const (
	namesModule    = 0
	namesFunctions = 1
)

// shiftNames gives the name section with the names of the module and its
// functions; those of locals, labels and types are left out. It gives nil for
// a section that is broken, which is no failure: it is only for people.
func shiftNames(names []byte, shift functionShift) []byte {
	if len(names) > maxNamesBytes {
		return nil
	}
	var out []byte
	r := reader{b: names, end: len(names)}
	for last := -1; r.more(); {
		id := int(r.byte())
		part := reader{b: names, pos: r.pos, end: r.end}
		size := part.u32()
		content := part.take(int(size))
		if r.pos, r.err = part.pos, part.err; r.err != nil || id <= last {
			return nil
		}
		last = id
		switch id {
		case namesModule:
			out = putBytes(append(out, namesModule), content)
		case namesFunctions:
			shifted, ok := shiftFunctionNames(content, shift)
			if !ok {
				return nil
			}
			out = putBytes(append(out, namesFunctions), shifted)
		}
	}
	if r.err != nil {
		return nil
	}
	return out
}

func shiftFunctionNames(content []byte, shift functionShift) (out []byte, ok bool) {
	r := reader{b: content, end: len(content)}
	n := r.count("names", len(content))
	out = putU32(make([]byte, 0, len(content)+len(content)/8), uint32(n))
	for next := uint64(0); n > 0; n-- {
		function := r.u32()
		name := r.name()
		if r.err != nil || uint64(function) < next || function > maxFunctions+maxImports {
			return nil, false
		}
		next = uint64(function) + 1
		out = putBytes(putU32(out, shift.of(function)), []byte(name))
	}
	return out, r.err == nil && r.pos == r.end
}
