package rewrite

import (
	"bytes"
	"slices"

	"github.com/sluicehq/sluice/abi"
)

// An emitter writes the metered code of one function, as its plan says.
//
// A loop to which something goes back becomes
//
//	block (results)
//	  loop
//	    block
//	      loop (results)
//	        br_if 1 (fuel < 0)
//	        fuel -= cost
//	        the body
//	      end
//	      br 2
//	    end
//	    call refuel
//	    br 0
//	  end
//	  unreachable
//	end
//
// so that the call is outside of the loop: an engine keeps no value in a
// register across a call anywhere in a loop, whether it is executed or not. A
// loop with parameters, which no compiler makes, has its check inside.
//
// The fuel is in the global, in a local that mirrors it, or in both. A function
// in which nothing goes back uses the global only. In the others every label
// but the function's own finds it in the mirror, and every call, and whoever
// comes after the function, in the global.
type emitter struct {
	g         *metering
	w         walker
	plan      *plan
	out       []byte
	blocks    []openBlock // the function's own first
	open      int         // labels of the output that are open
	loops     int         // of the original, so far
	checks    int         // of the plan, so far
	charges   int         // likewise
	temporary uint32      // local for the size of an instruction
	mirror    uint32      // local that mirrors the fuel
	inMirror  bool        // the fuel is in the mirror, on every path to here
	inGlobal  bool        // the fuel is in the global, on every path to here
	inLoops   int         // open loops to which something goes back
	units     int64       // stack units of the function; 0 for none
	constant  int64       // what the last instruction pushed, if it was a small constant
}

// An openBlock is a block of the original that is open.
type openBlock struct {
	op        opcode
	label     int  // its place among the labels of the output
	outOfLine bool // a loop with its check around it
	back      bool // a loop to which something goes back
	reached   bool // a branch goes to its end
	inGlobal  bool // the fuel is in the global wherever its end is reached, so far
	skipped   bool // of an if: it is before the if
}

// loopLabels are the labels of an out-of-line loop around its own.
const loopLabels = 3

// function gives the metered code of one function with its locals.
func (g *metering) function(i int) ([]byte, *abi.Problem) {
	p, problem := g.planner.function(i)
	if problem != nil {
		return nil, problem
	}
	b := g.m.code[i]
	e := &g.emitter
	*e = emitter{g: g, w: g.m.walk(g.wasm, i), plan: p, constant: -1, out: e.out[:0], blocks: e.blocks[:0]}
	e.temporary = uint32(e.w.locals)
	e.mirror = e.temporary
	if p.callsGuest {
		e.units = stackUnits(e.w.locals, len(b.code))
	}
	b.locals = slices.Clip(b.locals)
	if p.sized {
		b.locals = append(b.locals, localRun{1, typeI32})
		e.mirror++
	}
	if p.goesBack {
		b.locals = append(b.locals, localRun{1, typeI64})
	}
	e.out = b.write(e.out, nil)
	e.function(g.m.types[g.m.functions[i]].results)
	if e.w.err != nil {
		return nil, e.w.err
	}
	return bytes.Clone(e.out), nil
}

func (e *emitter) function(results []byte) {
	e.blocks, e.open = append(e.blocks, openBlock{op: opEnd}), 1
	e.inGlobal = true
	e.enter(results)
	e.charge(e.w.pos)
	for e.w.step() {
		if e.checks < len(e.plan.checks) && e.plan.checks[e.checks] == e.w.from {
			e.checks++
			e.check(e.pushFuel)
		}
		e.instruct()
		e.charge(e.w.to)
	}
}

// enter takes the function's stack units, checks, and opens the block by whose
// end every return gives the units back.
func (e *emitter) enter(results []byte) {
	if e.units == 0 {
		if e.plan.checkEntry {
			e.check(e.pushFuel)
		}
		return
	}
	e.count(e.g.depth, e.units, opI64Sub)
	e.check(func() {
		e.op(opGlobalGet, e.g.depth)
		if e.plan.checkEntry {
			e.op(opGlobalGet, e.g.fuel)
			e.plain(opI64Or)
		}
	})
	e.plain(opBlock)
	e.out = append(e.out, e.g.blockType(results)...)
	e.blocks[0].label, e.open = 1, 2
}

// charge writes the charge that belongs to a place, if there is one. In loops
// the fuel stays in the mirror, unless a call follows.
func (e *emitter) charge(at int) {
	for e.charges < len(e.plan.charges) && int(e.plan.charges[e.charges].at) == at {
		c := &e.plan.charges[e.charges]
		e.charges++
		e.pushFuel()
		e.number(int64(c.cost))
		e.plain(opI64Sub)
		e.setFuel(e.inLoops > 0 && !c.calls)
	}
}

func (e *emitter) pushFuel() {
	if e.inMirror {
		e.op(opLocalGet, e.mirror)
		return
	}
	e.op(opGlobalGet, e.g.fuel)
}

func (e *emitter) setFuel(mirror bool) {
	if e.inMirror, e.inGlobal = mirror, !mirror; mirror {
		e.op(opLocalSet, e.mirror)
		return
	}
	e.op(opGlobalSet, e.g.fuel)
}

// load puts the fuel into the mirror, where every label wants it that is not
// the function's own.
func (e *emitter) load() {
	if e.inMirror || !e.plan.goesBack {
		return
	}
	e.op(opGlobalGet, e.g.fuel)
	e.op(opLocalSet, e.mirror)
	e.inMirror = true
}

// save puts the fuel into the global, where others want it.
func (e *emitter) save() {
	if e.inGlobal {
		return
	}
	e.op(opLocalGet, e.mirror)
	e.op(opGlobalSet, e.g.fuel)
	e.inGlobal = true
}

// unreached says that there is no way to here, of which anything is true.
func (e *emitter) unreached() { e.inMirror, e.inGlobal = e.plan.goesBack, true }

func (e *emitter) instruct() {
	constant := int64(-1)
	switch w := &e.w; w.op {
	case opBlock:
		e.push(openBlock{op: opBlock, inGlobal: true}, 0)
		e.copy()
	case opIf:
		e.load()
		e.push(openBlock{op: opIf, inGlobal: true, skipped: e.inGlobal}, 0)
		e.copy()
	case opLoop:
		e.beginLoop()
	case opElse:
		e.otherwise()
	case opEnd:
		e.finish()
	case opBr, opBrIf, opBrTable, opReturn, opUnreachable:
		e.leave()
	case opCall, opCallIndirect:
		e.call()
	case opRefFunc:
		e.op(w.op, e.g.shift.of(w.x))
	case opI32Const:
		constant = w.number
		e.copy()
	default:
		e.sized()
		e.copy()
	}
	e.constant = constant
}

func (e *emitter) call() {
	e.save()
	if e.w.op == opCall {
		e.op(opCall, e.g.shift.of(e.w.x))
	} else {
		e.copy()
	}
	e.inMirror = false
}

func (e *emitter) copy() { e.out = append(e.out, e.w.b[e.w.from:e.w.to]...) }

// push opens a block that has so many further labels around it.
func (e *emitter) push(b openBlock, around int) {
	b.label = e.open + around
	e.blocks = append(e.blocks, b)
	e.open += around + 1
}

// block gives the block of the original that a label means.
func (e *emitter) block(label uint32) *openBlock {
	return &e.blocks[len(e.blocks)-1-int(label)]
}

// target gives the label of the output for one of the original.
func (e *emitter) target(label uint32) uint32 {
	return uint32(e.open - 1 - e.block(label).label)
}

// leave writes a branch.
func (e *emitter) leave() {
	w := &e.w
	switch w.op {
	case opBr, opBrIf:
		e.arrive(w.x)
		e.op(w.op, e.target(w.x))
	case opBrTable:
		w.eachLabel(e.arrive)
		e.out = putU32(append(e.out, byte(opBrTable)), uint32(w.labels-1))
		w.eachLabel(func(label uint32) { e.out = putU32(e.out, e.target(label)) })
	case opReturn:
		e.save()
		e.giveBack()
	default:
		e.save()
		e.copy()
	}
	if w.op != opBrIf {
		e.unreached()
	}
}

// arrive brings the fuel to where a label wants it.
func (e *emitter) arrive(label uint32) {
	b := e.block(label)
	if b.op == opEnd {
		e.save()
		return
	}
	e.load()
	b.reached = true
	b.inGlobal = b.inGlobal && e.inGlobal
}

// giveBack returns from the function, by its end if something is to be done
// there.
func (e *emitter) giveBack() {
	if e.units > 0 {
		e.op(opBr, e.target(uint32(len(e.blocks)-1)))
		return
	}
	e.copy()
}

func (e *emitter) beginLoop() {
	back := e.plan.loops[e.loops]
	e.loops++
	b := openBlock{op: opLoop, back: back}
	if !back {
		e.push(b, 0)
		e.copy()
		return
	}
	e.inLoops++
	e.load()
	e.inGlobal = false
	if params, _ := e.g.m.blockType(e.w.block); params > 0 {
		e.push(b, 0)
		e.copy()
		e.check(e.pushFuel)
		return
	}
	b.outOfLine = true
	e.push(b, loopLabels)
	kind := e.w.b[e.w.from+1 : e.w.to]
	e.out = append(append(e.out, byte(opBlock)), kind...)
	e.out = append(e.out, byte(opLoop), typeEmpty, byte(opBlock), typeEmpty, byte(opLoop))
	e.out = append(e.out, kind...)
	e.pushFuel()
	e.negative()
	e.op(opBrIf, 1)
}

func (e *emitter) otherwise() {
	b := &e.blocks[len(e.blocks)-1]
	e.load()
	e.copy()
	b.op, b.reached = opElse, true
	b.inGlobal = b.inGlobal && e.inGlobal
	e.inMirror, e.inGlobal = e.plan.goesBack, b.skipped
}

func (e *emitter) finish() {
	last := len(e.blocks) - 1
	b := e.blocks[last]
	if b.op == opIf {
		b.reached, b.inGlobal = true, b.inGlobal && b.skipped
	}
	switch {
	case last == 0:
		e.save()
	case b.op != opLoop && b.reached:
		e.load()
		e.inGlobal = e.inGlobal && b.inGlobal
	}
	e.blocks = e.blocks[:last]
	e.copy()
	e.open--
	if b.back {
		e.inLoops--
	}
	switch {
	case last == 0 && e.units > 0:
		e.count(e.g.depth, e.units, opI64Add)
		e.plain(opEnd)
	case b.outOfLine:
		e.finishLoop()
	}
}

// finishLoop writes what is around the loop.
func (e *emitter) finishLoop() {
	e.op(opBr, 2)
	e.plain(opEnd)
	e.op(opLocalGet, e.mirror)
	e.op(opGlobalSet, e.g.fuel)
	e.op(opCall, e.g.refuel)
	e.op(opGlobalGet, e.g.fuel)
	e.op(opLocalSet, e.mirror)
	e.op(opBr, 0)
	e.plain(opEnd)
	e.plain(opUnreachable)
	e.plain(opEnd)
	e.open -= loopLabels
}

// sized charges an instruction by the size on top of its operands and checks
// the fuel before it acts.
func (e *emitter) sized() {
	if e.w.op == opTableGrow {
		e.g.boundTable(e.w.x)
	}
	left, right, ok := e.w.op.sized()
	if !ok || isSmall(e.w.op, e.constant) || !e.plan.sized {
		return
	}
	e.op(opLocalTee, e.temporary)
	e.pushFuel()
	e.op(opLocalGet, e.temporary)
	e.plain(opI64ExtendU)
	if left > 0 {
		e.number(int64(left))
		e.plain(opI64Shl)
	}
	if right > 0 {
		e.number(int64(right))
		e.plain(opI64ShrU)
	}
	e.plain(opI64Sub)
	e.setFuel(false)
	e.check(e.pushFuel)
}

// check calls the slow path if the number that push leaves is negative.
func (e *emitter) check(push func()) {
	push()
	e.negative()
	e.out = append(e.out, byte(opIf), typeEmpty)
	if !e.inGlobal {
		e.op(opLocalGet, e.mirror)
		e.op(opGlobalSet, e.g.fuel)
	}
	e.op(opCall, e.g.refuel)
	if e.inMirror {
		e.op(opGlobalGet, e.g.fuel)
		e.op(opLocalSet, e.mirror)
	}
	e.plain(opEnd)
}

func (e *emitter) negative() {
	e.number(0)
	e.plain(opI64LtS)
}

// count adds to a global or subtracts from it.
func (e *emitter) count(global uint32, n int64, op opcode) {
	e.op(opGlobalGet, global)
	e.number(n)
	e.plain(op)
	e.op(opGlobalSet, global)
}

func (e *emitter) number(n int64)         { e.out = putSigned(append(e.out, byte(opI64Const)), n) }
func (e *emitter) plain(op opcode)        { e.out = append(e.out, byte(op)) }
func (e *emitter) op(op opcode, x uint32) { e.out = putU32(append(e.out, byte(op)), x) }
