package sandbox

// OnlyFresh makes a sandbox give every call a fresh instance of the module
// that is metered and not frozen.
func OnlyFresh(s *Sandbox) { s.neverFreeze = true }

// OnlySlice sets the fuel that a guest gets at a time.
func OnlySlice(s *Sandbox, fuel int64) { s.slice = fuel }
