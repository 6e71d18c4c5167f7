// Package toolchain owns how a folder of source becomes a skill: which language
// it is in, which compiler makes its module, and the manifest that the module
// tells. It runs compilers and nothing else of an author's machine.
//
// # Life of a build
//
//  1. The files of the folder tell its language. None, or two, are refused.
//  2. The language's compiler makes the module, with the arguments that are
//     written here, in a process group of its own that is killed where it hangs. A
//     compiler that is missing is told with what to install; what it says of a
//     source is told as it says it, with what an author does about that.
//  3. The module is loaded by a sandbox, as a host would, and asked for its
//     manifest, which is checked.
//  4. skill.wasm, skill.yaml and the guide are written. The same source and the
//     same compiler give the same bytes in any folder.
package toolchain
