package sandbox

// OnlySlice sets the fuel that a guest gets at a time.
func OnlySlice(s *Sandbox, fuel int64) { s.slice = fuel }

// OnlyStartFuel sets the fuel that a start may use if it is to be frozen. What
// is prepared so must not be kept.
func OnlyStartFuel(s *Sandbox, fuel int64) { s.startFuel = fuel }

// ExtismSignatures gives the parameters and results of every function of
// Extism's ABI, as WebAssembly writes them.
func ExtismSignatures() map[string][2][]byte {
	signatures := map[string][2][]byte{}
	for _, f := range extismFuncs() {
		signatures[f.name] = [2][]byte{f.params, f.results}
	}
	return signatures
}
