// Package files keeps a folder for every session: documents that a user and an
// agent work on together, reached by host functions and by nothing else.
//
// On disk a session's files lie plain below the store's folder, so that they
// can be looked at, backed up and put under version control as they are:
//
//	<root>/<aa>/<sha-256 of tenant, user and session>/files/...   the files
//	<root>/<aa>/<sha-256 of tenant, user and session>/work/...    files on their way in and out
//
// No text of a tenant is part of a path of the disk. A session's folder is
// opened as an os.Root, so that no name and no link leads out of it; what is
// neither a file nor a folder does not exist here, and a folder exists as long
// as there is a file in it.
//
// One process at a time works for a session; within it any number of views
// may. A view is for one goroutine.
//
// # Life of a write
//
//  1. A call gets a View. The first use lists the session's files once.
//  2. Write and Remove change the view, in memory, and check names, bounds and
//     conditions there; the call sees its own changes at once, nobody else does.
//  3. Before the call is settled, Apply takes the session's lock, holds the
//     conditions against what is on disk by now, and writes every new file
//     beside the tree, to the disk. Only then it moves them into place, one
//     rename each, and keeps what they replace.
//  4. If the call is settled, Keep drops what was replaced. If not, Undo puts it
//     back. An attempt that failed before Apply leaves nothing at all.
//
// A process that dies between 3 and 4 leaves the changes of a call whose end
// is not known, whole files all of them. What it had set aside is removed by
// the next Apply.
package files
