// Shop.rules is a policy module: what this shop sells by, whatever a model or a
// skill makes of it. It has no tools and no capabilities; an operator names it in
// the host's policy, under hooks.
//
//   - No price ends in 4, which sounds like death.
//   - No text that goes out praises in the absolute words that the Advertising
//     Law of China forbids (article 9): neither what a write stores, such as a
//     title, nor an answer.
//
// # Life of a question
//
//  1. The host asks about every call before it runs, and about every answer.
//  2. Reads and calls without a price or a text pass.
//  3. What breaks a rule is refused with words by which the model finds another
//     way: the nearest prices that do, or the word that has to go.
package main
