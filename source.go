// Package sluice carries the sources that a new skill begins from, out of the
// folders in which they are worked on: nobody has to keep a copy up to date.
//
// It lies in the root because a package embeds only what is below its folder. No
// guest imports it.
package sluice

import (
	"embed"
	"io/fs"
)

// What skilltest imports is in it; what any of these imports of this module must
// be named here, too.
//
//go:embed go.mod abi/*.go abi/value/*.go abi/wire/*.go abi/wording/*.go
//go:embed sdk/*.go sdk/clock/*.go sdk/skilltest/*.go
var sdk embed.FS

//go:embed skills/polyglot/c/*.c skills/polyglot/c/*.h skills/polyglot/c/manifest.json
//go:embed skills/polyglot/rust/Cargo.toml skills/polyglot/rust/manifest.json skills/polyglot/rust/src/*.rs
//go:embed skills/polyglot/rust/.cargo/config.toml
//go:embed skills/polyglot/assemblyscript/*.json skills/polyglot/assemblyscript/assembly/*.ts
var polyglot embed.FS

// SDK gives this module's go.mod and the packages sdk and abi, with their tests,
// as they lie in the repository.
func SDK() fs.FS { return sdk }

// Polyglot gives the skill of skills/polyglot in the folders c, rust and
// assemblyscript.
func Polyglot() fs.FS {
	folder, err := fs.Sub(polyglot, "skills/polyglot")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return folder
}
