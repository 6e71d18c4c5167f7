package manifest

// hooks keeps tools and policy modules apart: who judges calls makes none, and
// sees nothing of the world but what it is asked about.
func (l *loader) hooks() {
	if len(l.m.Hooks) == 0 {
		if l.root.at([]string{"tools"}).node == nil {
			l.fail(l.at("tools"), "declare at least one tool, or hooks for a policy module", "is required")
		}
		return
	}
	if len(l.m.Tools) > 0 {
		l.fail(l.at("tools"), "put the tools into a skill of their own", "a policy module has no tools")
	}
	if at := l.at("capabilities"); at.node != nil {
		l.fail(at, "leave it out; what a rule has to know comes with what it is asked about", "a policy module has no capabilities")
	}
	if l.m.Reducer {
		l.fail(l.at("reducer"), "leave it out", "a policy module has no state to reduce")
	}
}
