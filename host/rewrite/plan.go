package rewrite

import "github.com/sluicehq/sluice/abi"

// A plan is what metering adds to one function.
type plan struct {
	charges    []segment // in the order of their places
	loops      []bool    // of each loop, whether anything goes back to it
	checks     []int     // instructions before which there is a check of its own
	checkEntry bool
	sized      bool   // an instruction is charged by its size
	goesBack   bool   // any of the loops
	calls      bool   // calls anything
	callsGuest bool   // calls what may be a function of a guest
	most       uint32 // fuel that is used between two checks at most
	nesting    int
	branches   int // labels of its largest br_table
}

// A segment is a run of instructions of which either all are executed or, but
// for a trap, none. It need not be contiguous: what follows a block belongs to
// what comes before it, if nothing inside leaves for further out.
type segment struct {
	at     uint32 // where its first instruction is
	cost   uint32
	merged int32 // segment that it is part of and 1, 0 for itself
	calls  bool  // it calls something before the next segment begins
}

// dead is the segment of instructions that cannot be reached.
const dead = -1

// A frame is a block that is open.
type frame struct {
	op        opcode // opBlock, opLoop, opIf, opElse; opEnd for the function
	head      int32  // segment before it; dead if it is never reached
	arm       int32  // of an else: segment at the end of the other arm
	out       int32  // outermost frame that a branch inside goes to
	loop      int32  // number of the loop
	body      int32  // of a loop: segment with which it begins
	used      bool   // a branch goes to its label
	since     uint32 // fuel since the last check: before it
	sinceArm  uint32 // of an else: at the end of the other arm
	sinceMost uint32 // at a branch to its end
}

// A planner plans one function after the other.
type planner struct {
	m        *module
	wasm     []byte
	leaves   []uint32 // of each function of the module, its cost if it goes unchecked; may be nil
	indirect uint32   // of the most expensive of them

	walker
	plan
	frames    []frame
	segments  []segment
	current   int32
	since     uint32
	constant  int64 // what the last instruction pushed, if it was a constant
	firstLoop int32 // a loop that is reached from the entry with nothing in between
	straight  bool  // nothing but blocks so far
}

// function plans the metering of one function. The plan holds until the next.
func (p *planner) function(i int) (*plan, *abi.Problem) {
	p.walker = p.m.walk(p.wasm, i)
	p.plan = plan{loops: p.loops[:0], checks: p.checks[:0]}
	p.segments = append(p.segments[:0], segment{at: uint32(p.pos), cost: costEnter})
	p.frames = append(p.frames[:0], frame{op: opEnd})
	p.current, p.since, p.constant, p.firstLoop, p.straight = 0, costEnter, -1, -1, true
	p.most = costEnter
	for p.step() {
		p.instruct()
	}
	if p.err != nil {
		return nil, p.err
	}
	p.conclude()
	return &p.plan, nil
}

// conclude merges the segments and decides on the check at the entry.
func (p *planner) conclude() {
	for i := range p.segments {
		if root := p.root(int32(i)); root != int32(i) {
			p.segments[root].cost += p.segments[i].cost
			p.segments[i].cost = 0
		}
	}
	p.charges = p.segments[:0]
	for _, s := range p.segments {
		if s.cost > 0 {
			p.charges = append(p.charges, s)
		}
	}
	loopFirst := p.firstLoop >= 0 && p.loops[p.firstLoop]
	p.checkEntry = (p.calls || p.most > leafCost) && !loopFirst
}

// root gives the segment of which one is part in the end.
func (p *planner) root(s int32) int32 {
	for p.segments[s].merged != 0 {
		next := p.segments[s].merged - 1
		if further := p.segments[next].merged; further != 0 {
			p.segments[s].merged = further
		}
		s = next
	}
	return s
}

func (p *planner) open() {
	p.current = int32(len(p.segments))
	p.segments = append(p.segments, segment{at: uint32(p.to)})
}

func (p *planner) instruct() {
	if p.current != dead {
		p.charge()
	}
	constant := int64(-1)
	switch p.op {
	case opBlock, opLoop, opIf:
		p.begin()
	case opElse:
		p.otherwise()
	case opEnd:
		p.finish()
	case opBr, opBrIf, opBrTable, opReturn, opUnreachable:
		p.leave()
	case opI32Const:
		constant = p.number
	}
	p.constant = constant
}

// charge counts the instruction into its segment.
func (p *planner) charge() {
	cost := p.op.cost()
	_, _, sized := p.op.sized()
	if isSmall(p.op, p.constant) {
		cost += uint32(p.constant) >> bytesShift
		sized = false
	}
	switch p.op {
	case opCall:
		p.called(p.m.isImport(p.x))
		if int(p.x) < len(p.leaves) {
			p.pass(p.leaves[p.x])
		}
	case opCallIndirect:
		p.called(false)
		p.pass(p.indirect)
	}
	p.segments[p.current].cost += cost
	p.pass(cost)
	if sized {
		p.sized, p.since = true, 0
	}
}

// isSmall reports whether the size of a bulk operation is a constant that is
// charged with its block.
func isSmall(op opcode, constant int64) bool {
	switch op {
	case opMemoryCopy, opMemoryFill, opMemoryInit:
		return constant >= 0 && constant <= constantBytes
	}
	return false
}

func (p *planner) called(host bool) {
	p.calls, p.straight = true, false
	p.segments[len(p.segments)-1].calls = true
	p.callsGuest = p.callsGuest || !host
}

// pass counts fuel on the path to the instruction, and puts a check before it
// if it has been long.
func (p *planner) pass(cost uint32) {
	if p.since+cost > checkEvery {
		if n := len(p.checks); n == 0 || p.checks[n-1] != p.from {
			p.checks = append(p.checks, p.from)
		}
		p.since = 0
	}
	p.since += cost
	p.most = max(p.most, p.since)
}

func (p *planner) begin() {
	f := frame{op: p.op, head: p.current, arm: dead, out: int32(len(p.frames)), since: p.since}
	p.nesting = max(p.nesting, len(p.frames))
	switch {
	case p.op == opLoop:
		f.loop = int32(len(p.loops))
		p.loops = append(p.loops, false)
		if p.current != dead {
			if p.straight && p.since <= firstLoopCost {
				p.firstLoop = f.loop
			}
			p.straight = false
			p.open()
			f.body = p.current
		}
	case p.op == opIf && p.current != dead:
		p.straight = false
		p.open()
	}
	p.frames = append(p.frames, f)
}

func (p *planner) otherwise() {
	f := &p.frames[len(p.frames)-1]
	if f.op != opIf {
		p.pos = p.from
		p.corrupt("an else without an if")
		return
	}
	f.op, f.arm, f.sinceArm = opElse, p.current, p.since
	if p.current = dead; f.head != dead {
		p.since = f.since
		p.open()
	}
}

// finish goes on behind a block.
func (p *planner) finish() {
	last := int32(len(p.frames) - 1)
	f := p.frames[last]
	p.frames = p.frames[:last]
	if last == 0 {
		return
	}
	if up := &p.frames[last-1]; f.out < up.out {
		up.out = f.out
	}
	if f.head == dead {
		p.current = dead
		return
	}
	if f.op == opLoop && !f.used {
		p.segments[f.body].merged = f.head + 1
	}
	p.join(f, f.out < last)
}

// join finds the segment behind a block. Left tells that a branch inside goes
// further out.
func (p *planner) join(f frame, left bool) {
	label := f.used && f.op != opLoop
	skipped := f.op == opIf // there is no else: the block may be passed by
	ways := 0
	only := int32(dead)
	since := uint32(0)
	way := func(open bool, from int32, s uint32) {
		if open {
			ways++
			only = from
			since = max(since, s)
		}
	}
	way(p.current != dead, p.current, p.since)
	way(f.arm != dead, f.arm, f.sinceArm)
	way(skipped, dead, f.since)
	way(label, dead, f.sinceMost)
	p.since = since
	switch {
	case ways == 0:
		p.current = dead
	case !left:
		p.current = f.head
	case ways == 1 && only != dead:
		p.current = only
	default:
		p.open()
	}
}

// leave goes on behind a branch.
func (p *planner) leave() {
	p.straight = false
	if p.op == opBrTable {
		p.branches = max(p.branches, p.labels)
	}
	if p.current == dead {
		return
	}
	switch p.op {
	case opBr, opBrIf:
		p.branch(p.x)
	case opBrTable:
		p.eachLabel(p.branch)
	case opReturn:
		p.branch(uint32(len(p.frames) - 1))
	}
	if p.op == opBrIf {
		p.open()
		return
	}
	p.current = dead
}

func (p *planner) branch(label uint32) {
	target := int32(len(p.frames)-1) - int32(label)
	inner := &p.frames[len(p.frames)-1]
	inner.out = min(inner.out, target)
	f := &p.frames[target]
	f.used = true
	if f.op == opLoop {
		p.loops[f.loop], p.goesBack = true, true
		return
	}
	f.sinceMost = max(f.sinceMost, p.since)
}
