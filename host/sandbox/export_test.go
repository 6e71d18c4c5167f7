package sandbox

// OnlySlice sets the fuel that a guest gets at a time.
func OnlySlice(s *Sandbox, fuel int64) { s.slice = fuel }
