package rewrite

// Instructions that only a simplification has to know.
const (
	opI32Add     opcode = 0x6a
	opI64Store   opcode = 0x37
	opI32Wrap    opcode = 0xa7
	opI64ExtendS opcode = 0xac
)

// simplify gives the code of every function, with its locals, in fewer
// instructions that do the same: Go's compiler computes 32-bit addresses in 64
// bits, and keeps for a call what the call gives anew. Instructions that follow
// each other in the text are always executed one after the other, so that each
// change needs to look at no more than those that it replaces.
func (m *module) simplify(wasm []byte) ([][]byte, error) {
	code := make([][]byte, len(m.code))
	for i, b := range m.code {
		s := simplifier{out: b.write(make([]byte, 0, len(b.code)+8), nil)}
		w := m.walk(wasm, i)
		for w.step() {
			s.add(&w.instruction, wasm)
		}
		if w.err != nil {
			return nil, w.err
		}
		code[i] = s.out
	}
	return code, nil
}

// A simplifier writes one function.
type simplifier struct {
	out     []byte
	written []written
}

// A written is an instruction of the output.
type written struct {
	op     opcode
	at     int // in the output
	x      uint32
	number int64
}

func (s *simplifier) add(in *instruction, wasm []byte) {
	if in.op == opNop {
		return
	}
	s.written = append(s.written, written{in.op, len(s.out), in.x, in.number})
	s.out = append(s.out, wasm[in.from:in.to]...)
	switch in.op {
	case opI32Wrap:
		s.wrap()
	case opLocalSet:
		s.called()
	}
}

// ends reports whether the output ends in these instructions.
func (s *simplifier) ends(ops ...opcode) bool {
	if len(s.written) < len(ops) {
		return false
	}
	for i, w := range s.last(len(ops)) {
		if w.op != ops[i] {
			return false
		}
	}
	return true
}

func (s *simplifier) last(n int) []written { return s.written[len(s.written)-n:] }

// drop takes the last instructions off.
func (s *simplifier) drop(n int) {
	s.out = s.out[:s.last(n)[0].at]
	s.written = s.written[:len(s.written)-n]
}

func (s *simplifier) constant(number int64) {
	n := int64(int32(number))
	s.written = append(s.written, written{op: opI32Const, at: len(s.out), number: n})
	s.out = putSigned(append(s.out, byte(opI32Const)), n)
}

// wrap writes what gives 32 bits in 32 bits.
func (s *simplifier) wrap() {
	switch {
	case s.ends(opI64ExtendU, opI64Const, opI64Add, opI32Wrap):
		number := s.last(3)[0].number
		s.drop(4)
		s.constant(number)
		s.written = append(s.written, written{op: opI32Add, at: len(s.out)})
		s.out = append(s.out, byte(opI32Add))
	case s.ends(opI64Const, opI32Wrap):
		number := s.last(2)[0].number
		s.drop(2)
		s.constant(number)
	case s.ends(opI64ExtendU, opI32Wrap), s.ends(opI64ExtendS, opI32Wrap):
		s.drop(2)
	}
}

// called leaves a local as it is that a call's caller sets when it has come
// back: what is kept for the call is in the global already.
//
//	local.tee x, global.set g, local.get x, i64.const, i64.store, i32.const, call, global.get g, local.set x
func (s *simplifier) called() {
	if !s.ends(opLocalTee, opGlobalSet, opLocalGet, opI64Const, opI64Store, opI32Const, opCall, opGlobalGet, opLocalSet) {
		return
	}
	l := s.last(9)
	local, global := l[8].x, l[7].x
	if l[0].x != local || l[2].x != local || l[1].x != global || local >= 128 || global >= 128 {
		return
	}
	tail := append([]byte{byte(opGlobalSet), byte(global), byte(opGlobalGet), byte(global)}, s.out[l[3].at:]...)
	s.out = append(s.out[:l[0].at], tail...)
	s.written = s.written[:0] // nothing before is looked at again
}
