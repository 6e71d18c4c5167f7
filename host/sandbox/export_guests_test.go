package sandbox

// Served tells how many calls the idle slots of a sandbox have served beside
// their first ones.
func Served(s *Sandbox) (calls int) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, k := range s.pool.idle {
		calls += k.slot.calls
	}
	return calls
}
