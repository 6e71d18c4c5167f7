package rewrite

// Version is that of the rewriter and of its cost table. It changes whenever
// the same module would cost another amount of fuel or be written differently,
// and is part of every key under which rewritten modules are kept.
const Version = 2

// The cost table, version 1, in units of fuel. A trap ends a call in the
// middle of what was charged in advance; every other call costs exactly the
// sum of what it executed.
const (
	costEnter       = 1  // entering a function, beside the call itself
	costStructure   = 0  // nop, block, loop, else, end
	costInstruction = 1  // every other instruction
	bytesShift      = 3  // memory.copy, fill, init: 1 for each 8 bytes
	pageShift       = 13 // memory.grow: 1 for each 8 bytes of each page asked for
	itemShift       = 0  // table.copy, fill, init, grow: 1 for each item of 8 bytes
)

func (op opcode) cost() uint32 {
	switch op {
	case opNop, opBlock, opLoop, opElse, opEnd:
		return costStructure
	}
	return costInstruction
}

// sized tells the cost of an instruction by the size on top of its operands:
// size << left >> right.
func (op opcode) sized() (left, right byte, ok bool) {
	switch op {
	case opMemoryCopy, opMemoryFill, opMemoryInit:
		return 0, bytesShift, true
	case opMemoryGrow:
		return pageShift, 0, true
	case opTableCopy, opTableFill, opTableInit, opTableGrow:
		return 0, itemShift, true
	}
	return 0, 0, false
}

const (
	// checkEvery bounds the fuel that is used between two checks on any path
	// through one function: some microseconds.
	checkEvery = 4096

	// leafCost is what a function without calls may use at most to go without
	// a check of its own; its callers count it as theirs.
	leafCost = 256

	// firstLoopCost is what a function may use before its first loop so that
	// the loop's check serves as the check at its entry.
	firstLoopCost = 256

	// constantBytes is the largest constant size of a bulk operation that is
	// charged with its block instead of on its own.
	constantBytes = 4096
)

// Stack units: what a call of a function is held to take of the native stack.
// An engine's frame holds at most the parameters, the locals, and the values
// that the function's instructions push, of which each takes two bytes of code
// or more; so a unit stands for 512 bytes or less, or twice that with vectors.
const (
	unitLocals = 8
	unitBytes  = 128

	// DefaultDepth is the limit of stack units where a host sets none. A Go
	// skill uses some hundred; and it keeps the native stack below 32 MiB,
	// where the engine's own limit is between 50 and 100 MiB.
	DefaultDepth = 1 << 16
)

func stackUnits(locals, codeBytes int) int64 {
	return int64(1 + locals/unitLocals + codeBytes/unitBytes)
}
