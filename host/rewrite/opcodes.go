package rewrite

// next reads one instruction with its immediates. It knows the instructions
// of WebAssembly 2.0 and no others.
func (r *reader) next(in *instruction) {
	in.from = r.pos
	in.op = opcode(r.byte())
	switch op := in.op; {
	case op >= 0x45 && op <= 0xc4: // comparisons, arithmetic, conversions, sign extension
	case op >= opLocalGet && op <= opTableSet:
		in.x = r.u32()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.memoryArgument()
	case op == opUnreachable, op == opNop, op == opElse, op == opEnd, op == opReturn, op == 0x1a, op == 0x1b, op == 0xd1:
	case op == opBlock, op == opLoop, op == opIf:
		r.blockType(in)
	case op == opBr, op == opBrIf, op == opCall, op == opRefFunc:
		in.x = r.u32()
	case op == opBrTable:
		in.labels = r.count("labels", maxBranches) + 1
		in.labelsAt = r.pos
		for range in.labels {
			r.u32()
		}
	case op == opCallIndirect:
		in.x, in.y = r.u32(), r.u32()
	case op == 0x1c: // select of a type
		for n := r.count("types of a select", maxSelectTypes); n > 0; n-- {
			r.valueType()
		}
	case op == opMemorySize, op == opMemoryGrow:
		r.zeroMemory()
	case op == opI32Const:
		in.number = r.signed(32)
	case op == opI64Const:
		in.number = r.signed(64)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op == opRefNull:
		r.referenceType()
	case op == prefixBulk:
		r.bulk(in)
	case op == prefixVector:
		r.vector(in)
	default:
		r.unknown(in, byte(op), r.peekU32())
	}
	in.to = r.pos
}

// bulk reads what follows the prefix of saturating conversions, bulk memory
// and tables.
func (r *reader) bulk(in *instruction) {
	sub := r.u32()
	in.op = prefixBulk<<8 | opcode(sub&0xff)
	switch {
	case sub <= 7: // saturating conversions
	case sub == 8:
		in.x = r.u32()
		r.zeroMemory()
	case sub == 9, sub == 13, sub == 15, sub == 16, sub == 17:
		in.x = r.u32()
	case sub == 10:
		r.zeroMemory()
		r.zeroMemory()
	case sub == 11:
		r.zeroMemory()
	case sub == 12, sub == 14:
		in.x, in.y = r.u32(), r.u32()
	default:
		r.unknown(in, prefixBulk, sub)
	}
}

// vector reads what follows the prefix of SIMD.
func (r *reader) vector(in *instruction) {
	sub := r.u32()
	in.op = prefixVector<<8 | opcode(sub&0xff)
	switch {
	case sub <= 11, sub == 92, sub == 93: // loads and stores
		r.memoryArgument()
	case sub == 12, sub == 13: // constant, shuffle
		r.take(16)
	case sub >= 21 && sub <= 34: // lanes
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of lanes
		r.memoryArgument()
		r.byte()
	case sub > 0xff || isVectorHole(sub):
		r.unknown(in, prefixVector, sub)
	}
}

// isVectorHole reports the codes between SIMD's that are not used.
func isVectorHole(sub uint32) bool {
	switch sub {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6,
		0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return true
	}
	return false
}

func (r *reader) unknown(in *instruction, op byte, sub uint32) {
	if r.err != nil {
		return
	}
	r.pos = in.from
	if f, ok := opFeature(op, sub); ok {
		r.refuse(f)
		return
	}
	r.corrupt("0x%02x (%d) is not an instruction of WebAssembly 2.0", op, sub)
}

// peekU32 reads the number that follows a prefix, if there is one.
func (r *reader) peekU32() uint32 {
	peek := reader{b: r.b, pos: r.pos, end: r.end}
	return peek.u32()
}

func (r *reader) blockType(in *instruction) {
	at := r.pos
	in.block = r.signed(33)
	if r.err != nil || in.block >= 0 {
		return
	}
	t := byte(in.block & 0x7f)
	if in.block < -64 || t != typeEmpty && !isValueType(t) {
		r.pos = at
		r.refuseType(t)
	}
}

func (r *reader) memoryArgument() {
	const hasMemory = 0x40
	if align := r.u32(); align&hasMemory != 0 {
		r.refuse(multiMemory())
	} else if align > 4 {
		r.corrupt("an alignment of 2^%d is more than any access has", align)
	}
	r.u32()
}

func (r *reader) zeroMemory() {
	if r.byte() != 0 {
		r.refuse(multiMemory())
	}
}
