// Package skilltest runs the skill that a test binary declares, natively and
// in memory, as the host would: arguments and results are held against the
// tool's schemas, host functions are open only where the skill declares them
// and within the limits of package abi, and what a call writes is kept only if
// the call succeeds.
//
//	func TestSetPrice(t *testing.T) {
//		h := skilltest.New(t)
//		h.Put("product/1001", Product{SKU: "1001", Price: 99})
//		reply := h.Call("set_price", SetPrice{SKU: "1001", Price: 89})
//		...
//	}
//
//	func TestExamples(t *testing.T) { skilltest.New(t).Examples() }
//
// The rules of a policy module are asked by Ask, BeforeCall and AfterReasoning.
//
// It does not play the gate: scopes, rules, tiers and facts are not evaluated,
// facts are what the test says they are.
//
// # Life of a call in skilltest
//
//  1. The tool's arguments are checked against its input schema; what does not
//     fit is answered with the 4xxx problem of the host.
//  2. An invocation is made: a fresh id, a fresh key for a write, the clock,
//     tenant, locale, state and facts that the options say.
//  3. The kv namespace, files, blobs and memories are copied, and the handler
//     runs on the copy.
//  4. The result is checked against the output schema. Its state patch is
//     applied, or its action is given to the skill's reducer, and the keys that
//     change are checked against the declaration; what does not fit is answered
//     with the problem of the host.
//  5. If the reply is OK, the copy and the new state take their place; else they
//     are dropped.
package skilltest
