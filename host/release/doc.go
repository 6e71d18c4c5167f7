// Package release owns the skill releases of a replica: it prepares a release
// (compiles its module and checks it against the contract), swaps it in, and
// says which release and which tool a session's call means.
//
// # Life of a release
//
//  1. registry.Fetch gives verified bytes and a valid manifest.
//  2. Set.Load compiles the module, demands the exports of the contract and
//     host functions that the manifest's capabilities grant, and swaps the
//     release in. A release that fails leaves the old one in place. Either is
//     told first, for the record; what cannot be recorded is not loaded.
//  3. Set.Catalog gives a session its tools. The session is pinned: it keeps
//     the releases that it began with, also after a newer one is swapped in and
//     on a replica that has to fetch the older one first.
//  4. Set.Close closes every module; running calls end first.
package release
