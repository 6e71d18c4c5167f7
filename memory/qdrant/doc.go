// Package qdrant is a [memory.Store] on a Qdrant server, spoken to in gRPC with
// Qdrant's own Go client. It owns the layout of the collection, the form of its
// points and filters, and what is tried again.
//
// It asks for Qdrant 1.16 or later: that version brought the metadata of collections,
// in which the index keeps its version, and it is the oldest that the client
// promises to speak with.
//
// # Life of an index
//
//  1. [Open] reads the URL, and the API key from the environment. It connects, with TLS
//     unless the server is on this machine, and asks for the server's version, and for its
//     collections, which needs the key.
//  2. [Store.Reset] deletes every collection of this index, then makes a new one: a
//     filling. Its name is the URL's with a hash of the version that Reset was given and of
//     the layout, so that two versions are two collections. A host that dies in between
//     leaves one without its payload indexes.
//  3. Whoever is told the version works with it by [Store.Filling], and asks for that
//     collection by its name, whether it was there before or not. Where it is gone, because
//     somebody dropped it or made the next one, that is an error, and never a mixture.
//  4. [Store.State] compares the collection's vectors and payload indexes with what this
//     package would make. Where they differ, or another collection of this index lies
//     beside it, its version is the empty one, and whoever fills the index begins anew.
//  5. Put and Delete wait until the server has applied what they sent, so that the next
//     search sees it. Each entry is one point, its id made of the tenant's and its own.
//  6. Sparse and Dense each ask for one leg. Both are fused elsewhere, and not by Qdrant.
//     What comes back is held against the tenant and user that were asked for.
//
// The weights of terms come with the entries; Qdrant multiplies with the IDF that
// it counts in a shard, over all tenants. The collection has one shard, so that
// this is the whole index.
//
// So the rarity of a word is that among all tenants, where the embedded index counts each
// tenant's own. Of a query with several words the order of the hits may differ between
// the two, and it shifts with what other tenants write: who can measure scores exactly
// learns how frequent a word is on the whole server, and nothing else. The order is the same for one
// word, and where one hit has all words of another. Tenants that must not
// share even that are given an index each, by the URL's collection.
package qdrant
