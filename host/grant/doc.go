// Package grant turns a manifest's capabilities into the host functions of one
// call. Deny by default: what the manifest does not declare is not built, and
// the sandbox answers a guest that asks for it all the same with a problem.
//
// Each capability has its own file. Host functions are the only way out of a
// guest, and they are handed down to the sandbox as values.
//
// # Life of a grant
//
//  1. For builds the functions for one attempt of one call of one tool.
//  2. The guest calls them; every one checks its own input and answers with a
//     result or a problem, never with an error of the host's own words.
//  3. What the call wrote stays in the grant's views until the dispatcher
//     settles it with the rest of the call, or drops it.
//  4. Failed says whether the host itself failed the guest. Then nothing of the
//     attempt is kept, whatever the guest answered. Another attempt of the same
//     call gets a grant of its own.
package grant
