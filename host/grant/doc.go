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
//     result or a problem, never with an error of the host's own words. Each
//     call is noted with its arguments and what it gave, up to a bound.
//  3. What the call wrote stays in the grant: kv in views of the store, files in
//     a view of the session's folder, blobs and memories in memory. The call
//     sees its own kv, files and blobs at once; nobody else sees anything.
//  4. Failed says whether the host itself failed the guest. Then nothing of the
//     attempt is kept, whatever the guest answered. Another attempt of the same
//     call gets a grant of its own.
//  5. Store keeps the recording of the host calls, short ones for the record of
//     the outcome itself, long ones as a blob.
//  6. Keep writes blobs, files and memories, just before the dispatcher settles
//     the views with the rest of the call. Kept is then ended, by Done, or by
//     Undo if the call was not settled.
//
// # Life of a replay
//
//  1. Load reads the recording that an outcome's record names.
//  2. NewReplay makes functions that give what was given, in the same order, and
//     the guest runs with the recorded input under them.
//  3. Differs says where it asked for something else; if it says nothing, output
//     and fuel are those of the first run, as long as the skill has neither the
//     clock nor random numbers of its own.
package grant
