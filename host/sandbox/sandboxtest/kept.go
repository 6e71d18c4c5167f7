package sandboxtest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/goskill"
)

// What makes a module of a skill's source, beside Go's compiler: what packs it, and
// what asks it to describe itself.
const (
	packer    = "./host/sandbox/sandboxtest"
	describer = packer + "/warm"
)

// madeOf names all that a skill's module is made of: each package in it, as
// compiled for either build, and each in what describes and packs it. The go
// command has looked at the source for that, and at its own version.
func madeOf(root, dir, tag string) (string, error) {
	var skill []byte
	tags := strings.Fields(tag)
	for _, tags := range [][]string{tags, append(slices.Clip(tags), goskill.Described)} {
		build, err := compiled(dir, append(goEnv(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"), "-trimpath", "-buildmode=c-shared", "-tags="+strings.Join(tags, ","), ".")
		if err != nil {
			return "", err
		}
		skill = append(skill, build...)
	}
	ours := shared.makers.do(root, func() ([]byte, error) { return compiled(root, goEnv(), packer, describer) })
	return host.Digest(append(skill, ours.value...)), ours.err
}

// compiled has the go command compile packages, if it did not, and name them and
// all that they import by what came of them.
func compiled(dir string, env []string, args ...string) ([]byte, error) {
	var names bytes.Buffer
	list := exec.Command("go", append([]string{"list", "-buildvcs=false", "-deps", "-export", "-f", "{{.ImportPath}} {{.BuildID}}"}, args...)...)
	list.Env, list.Stdout = env, &names
	if err := run(list, dir); err != nil {
		return nil, err
	}
	return names.Bytes(), nil
}

// kept gives the module in a file if it was made of the same and is whole, and
// nil if not.
func kept(file, from string) ([]byte, error) {
	note, err := os.ReadFile(file + ".of")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || string(note) != from+" "+host.Digest(wasm) {
		return nil, nil
	}
	return wasm, err
}

// keep gives the module in a file, and notes what it was made of.
func keep(file, from string) ([]byte, error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return wasm, writeWhole(file+".of", []byte(from+" "+host.Digest(wasm)))
}
