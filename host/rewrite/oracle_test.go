package rewrite

// The oracle meters a module in the simplest way that there is: before each
// instruction its cost is taken from a global. It shares the reader and the
// table of costs with Meter, and nothing else: no blocks, no plan, no checks.

// OracleGlobal is the export of what the oracle counted, from 0 downwards.
const OracleGlobal = "oracle_fuel"

// Oracle gives a module that counts its fuel instruction by instruction.
func Oracle(wasm []byte) ([]byte, error) {
	m, p := read(wasm)
	if p != nil {
		return nil, p
	}
	fuel := uint32(len(m.globals))
	code := make([][]byte, len(m.code))
	for i, b := range m.code {
		w := m.walk(wasm, i)
		temporary := uint32(w.locals)
		b.locals = append(b.locals[:len(b.locals):len(b.locals)], localRun{1, typeI32})
		out := b.write(nil, nil)
		out = oracleCharge(out, fuel, costEnter)
		for w.step() {
			if w.op != opElse && w.op != opEnd {
				out = oracleCharge(out, fuel, int64(w.op.cost()))
			}
			if left, right, ok := w.op.sized(); ok {
				out = putU32(append(out, byte(opLocalTee)), temporary)
				out = putU32(append(out, byte(opGlobalGet)), fuel)
				out = putU32(append(out, byte(opLocalGet)), temporary)
				out = append(out, byte(opI64ExtendU))
				out = append(putSigned(append(out, byte(opI64Const)), int64(left)), byte(opI64Shl))
				out = append(putSigned(append(out, byte(opI64Const)), int64(right)), byte(opI64ShrU))
				out = append(out, byte(opI64Sub), byte(opGlobalSet))
				out = putU32(out, fuel)
			}
			out = append(out, wasm[w.from:w.to]...)
		}
		if w.err != nil {
			return nil, w.err
		}
		code[i] = out
	}
	m.globals = append(m.globals, global{valueType: typeI64, mutable: true, init: i64Constant(0)})
	m.exports = append(m.exports, export{OracleGlobal, kindGlobal, fuel})
	return m.write(wasm, functionShift{}, code), nil
}

func oracleCharge(out []byte, fuel uint32, cost int64) []byte {
	if cost == 0 {
		return out
	}
	out = putU32(append(out, byte(opGlobalGet)), fuel)
	out = append(putSigned(append(out, byte(opI64Const)), cost), byte(opI64Sub))
	return putU32(append(out, byte(opGlobalSet)), fuel)
}

// Identity reads a module and writes it.
func Identity(wasm []byte) ([]byte, error) {
	m, p := read(wasm)
	if p != nil {
		return nil, p
	}
	return m.write(wasm, functionShift{}, nil), nil
}
