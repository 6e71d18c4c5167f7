// Package files keeps a folder for every session: documents that a user and an
// agent work on together, reached by host functions and by nothing else.
//
// On disk a session's files lie plain below the store's folder, so that they
// can be looked at, backed up and put under version control as they are:
//
//	<root>/<aa>/<sha-256 of tenant, user and session>/files/...         the files
//	<root>/<aa>/<sha-256 of tenant, user and session>/work/...          files on their way in and out
//	<root>/<aa>/<sha-256 of tenant, user and session>/checkpoints/...   a bare repository of git
//
// No text of a tenant is part of a path of the disk. A session's folder is
// opened as an os.Root, so that no name and no link leads out of it; what is
// neither a file nor a folder does not exist for a view, and a folder exists as
// long as there is a file in it. A checkpoint takes all that somebody may have
// put there by hand: any name, exact modes, links, empty folders.
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
//     beside the tree, to the disk, and a plan of what it is about to do. Only
//     then it moves them into place, one rename each, and sets aside what they
//     replace. What is removed goes last, so that a document that gets another
//     name is there at any moment, but where a file becomes a folder or a folder
//     a file. In the end the plan is renamed: the change is applied.
//  4. If the call is settled, Keep drops what was set aside. If not, Undo makes
//     the plan one again and does it the other way around. An attempt that failed
//     before Apply leaves nothing at all.
//
// As long as there is a plan, nothing that was set aside is dropped: the next
// use of the session, be it after a crash within 3 or after an Undo that failed,
// takes the change back, or fails. A process that dies between 3 and 4 leaves
// the changes of a call whose end is not known, all of them and whole. What it
// had set aside is removed by the next Apply.
//
// # Life of a checkpoint
//
//  1. Before a task, Checkpoint takes the session's lock and lists the tree: what
//     is neither file, folder nor link is refused by name.
//  2. Every file is read for its hash, whatever its time and size say. An object
//     that the repository has is not written again; a new one goes to the disk
//     beside the others and is renamed into place.
//  3. Folders, the modes that git cannot keep and a commit follow. The reference
//     refs/open/ID comes last and makes the checkpoint: before it there is none.
//     What an attempt has written that fails, it removes; what a dead process has
//     written, the next checkpoint sweeps, told by the file "unfinished".
//  4. Over a bound, the oldest checkpoints go, and the objects that only they reach.
//  5. The task succeeds: Keep moves the reference to refs/kept. Or it does not:
//     Rollback makes the tree of the checkpoint in "restoring", each object held
//     against its name and the whole against the listing, down to the disk.
//     Damage and a full disk show here, where the session's files are untouched.
//  6. The rename of "restoring" to "restored" decides. Then the old tree becomes
//     "replaced", the new one "files", and the old one is removed. From every
//     point in between, the next use of the session goes on to the end.
//  7. The file "rolled" gets a new name before the swap. A view remembers the one
//     that it began with, and can neither read from nor write to another tree.
//
// Owners, times and extended attributes are not kept. Windows has no modes to keep.
package files
