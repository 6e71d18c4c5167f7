// Package host is the vocabulary of the host: ids, calls, outcomes, events,
// audit records, budgets, hooks, alerts, and the one error type. It has no I/O,
// and no state but that of hooks that are running and of how often calls end
// badly; every room above shares these words and adds behaviour of its own.
//
// Decisions are written down in RATIONALE.md beside this file. The floor plan
// of the whole module is held by floors_test.go.
package host
