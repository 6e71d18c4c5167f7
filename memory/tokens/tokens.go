// Package tokens cuts text into weighted terms for full-text search, in English and
// Chinese, the same for every index.
package tokens

// A Term is one term of a text: the hash of its letters, and its weight.
type Term struct {
	ID     uint32
	Weight float32
}

// A Vector is the terms of a text, by ascending id, each id once.
type Vector []Term
