package memory

// A ConflictPolicy says what happens when a user says something that contradicts
// what they said before.
type ConflictPolicy string

// The policies. Where a constraint or a pinned memory would lose, the user is asked
// under both.
const (
	LastWins ConflictPolicy = "last-wins" // the higher priority, then the later
	AskUser  ConflictPolicy = "ask"
)

// An Outcome is how two declared memories stand to each other.
type Outcome string

// The outcomes.
const (
	BothStand Outcome = "both"  // they do not contradict each other
	OneWins   Outcome = "wins"  // Winner replaces Loser
	UserAsked Outcome = "asked" // both stay until the user decides
)

// A Conflict is what becomes of two declared memories of one user.
type Conflict struct {
	Outcome Outcome
	Winner  Node // where one wins
	Loser   Node // as it becomes: superseded by the winner, and valid until the winner was said
	Why     string
}

// Settle decides between two declared memories (L1 against L1). What another layer
// says is never taken for the user's words: it is BothStand, and for Reconcile to
// judge.
//
// Of two that contradict each other the one with the higher priority wins, then the
// later one. The user is asked where the policy says so, where nothing tells them
// apart, and always where both are constraints, or where a constraint or a pinned
// memory would lose.
func Settle(policy ConflictPolicy, a, b Node) Conflict {
	if !contradictory(a, b) {
		return Conflict{Outcome: BothStand, Why: "they do not contradict each other"}
	}
	winner, loser, clear := ranked(a, b)
	switch {
	case a.Kind == Constraint && b.Kind == Constraint:
		return Conflict{Outcome: UserAsked, Why: "both are constraints"}
	case policy != LastWins:
		return Conflict{Outcome: UserAsked, Why: "the host's policy is to ask"}
	case !clear:
		return Conflict{Outcome: UserAsked, Why: "both have the same priority and time"}
	case loser.Kind == Constraint || loser.Pinned:
		return Conflict{Outcome: UserAsked, Why: "a constraint or a pinned memory would be replaced"}
	}
	why := "it is the later one"
	if winner.Priority != loser.Priority {
		why = "it has the higher priority"
	}
	return Conflict{Outcome: OneWins, Winner: winner, Loser: supersede(loser, winner), Why: why}
}

// contradictory holds for words about the very same matter alone: a rule for one
// product is an exception of the rule for all, and not its opposite.
func contradictory(a, b Node) bool {
	if !comparable(a, Declared) || !comparable(b, Declared) || a.ID == b.ID && a.ID != "" ||
		a.Tenant != b.Tenant || a.User != b.User || a.Entity != b.Entity || a.Scene != b.Scene {
		return false
	}
	if leavesRoom(*a.Claim, *b.Claim) {
		return false
	}
	strict := a.Kind == Constraint || b.Kind == Constraint
	one, other := Compare(*a.Claim, *b.Claim, 0, strict), Compare(*b.Claim, *a.Claim, 0, strict)
	return one == Contradicts || other == Contradicts
}

// leavesRoom reports whether two claims are the two ends of one range: not below 59, and
// not above 99.
func leavesRoom(a, b Claim) bool {
	if a.Low == nil || a.High == nil || a.Not || b.Not || len(a.Words)+len(b.Words) > 0 {
		return false
	}
	low, high, ok := inUnitOf(a, b)
	lower, upper := *a.High >= OpenEnd && low <= -OpenEnd, *a.Low <= -OpenEnd && high >= OpenEnd
	return ok && (lower && *a.Low <= high || upper && low <= *a.High)
}

func ranked(a, b Node) (winner, loser Node, clear bool) {
	if order := b.Priority - a.Priority; order != 0 {
		if order > 0 {
			return b, a, true
		}
		return a, b, true
	}
	if a.At.After(b.At) {
		return a, b, true
	}
	return b, a, b.At.After(a.At)
}

// supersede ends the loser's validity when the winner was said, but not before the
// loser itself was: a winner by priority may be the older one.
func supersede(loser, winner Node) Node {
	loser.Status, loser.SupersededBy = Superseded, winner.ID
	until := begins(winner)
	if begins(loser).After(until) {
		until = begins(loser)
	}
	if loser.Valid.Until.IsZero() || until.Before(loser.Valid.Until) {
		loser.Valid.Until = until
	}
	return loser
}
