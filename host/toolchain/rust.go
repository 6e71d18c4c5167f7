package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// RustTarget is what skills in Rust are compiled for. It has no imports of its own: what such a module asks of the host is
// what its author wrote.
const RustTarget = "wasm32-unknown-unknown"

func rustBuild(ctx context.Context, l language, dir, module string, _ Describer) error {
	cargo, rustc, err := rustTools(ctx, l, dir)
	if err != nil {
		return err
	}
	messages := &kept{most: messagesBytes}
	flags, err := rustFlags(dir)
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, cargo, "build", "--release", "--lib", "--offline", "--target", RustTarget, "--message-format=json-render-diagnostics", "--config", flags)
	build.Env = append(withoutRustFlags(os.Environ()), "RUSTC="+rustc)
	build.Stdout = messages
	if err := l.compile(ctx, build, dir); err != nil {
		return err
	}
	built, err := rustModule(messages.all)
	if err != nil {
		return host.Fail("build", abi.NewProblem(abi.BadArguments, "%s gives no module", dir).
			WithHint(`add crate-type = ["cdylib"] below [lib] in its Cargo.toml`), err)
	}
	wasm, err := ReadBounded(built, int64(abi.ModuleBytesCeiling))
	if err != nil {
		return err
	}
	return os.WriteFile(module, wasm, 0o644)
}

// rustFlags gives the option of cargo by which a module does not tell the folders
// that it was built in. Flags of [target] in the skill's own .cargo/config.toml are
// added to it. Those of [build] would be dropped, and are refused.
func rustFlags(dir string) (string, error) {
	var own struct{ Build struct{ Rustflags any } }
	_, err := toml.DecodeFile(filepath.Join(dir, ".cargo", "config.toml"), &own)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", host.Fail("build", abi.NewProblem(abi.BadArguments, "%s cannot be read: %v", filepath.Join(dir, ".cargo", "config.toml"), err).
			WithHint("correct it as TOML"), err)
	}
	if own.Build.Rustflags != nil {
		return "", host.Fail("build", abi.NewProblem(abi.BadArguments, "%s has rustflags below [build]", filepath.Join(dir, ".cargo", "config.toml")).
			WithHint("move them below [target.%s]", RustTarget), nil)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	const remap = "--remap-path-prefix="
	return fmt.Sprintf("target.%s.rustflags=[%q, %q]", RustTarget, remap+dir+"=/skill", remap+cargoHome()+"=/cargo"), nil
}

// cargoHome gives the folder of the crates that cargo fetched.
func cargoHome() string {
	if dir := os.Getenv("CARGO_HOME"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "/nowhere"
	}
	return filepath.Join(home, ".cargo")
}

// withoutRustFlags leaves the variables out of an environment by which cargo would
// ignore its files.
func withoutRustFlags(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		return strings.HasPrefix(v, "RUSTFLAGS=") || strings.HasPrefix(v, "CARGO_ENCODED_RUSTFLAGS=") || strings.HasPrefix(v, "CARGO_BUILD_RUSTFLAGS=")
	})
}

// rustTools finds the first cargo and rustc side by side on the PATH that have
// the target: often several are installed, and not all of them do.
func rustTools(ctx context.Context, l language, dir string) (cargo, rustc string, err error) {
	var without []string
	for _, bin := range filepath.SplitList(os.Getenv("PATH")) {
		cargo, noCargo := exec.LookPath(filepath.Join(bin, "cargo"))
		rustc, noRustc := exec.LookPath(filepath.Join(bin, "rustc"))
		if !filepath.IsAbs(bin) || noCargo != nil || noRustc != nil || slices.Contains(without, rustc) {
			continue
		}
		ask := exec.CommandContext(ctx, rustc, "--print", "target-libdir", "--target", RustTarget)
		ask.Dir = dir // where a rust-toolchain.toml may choose
		ask.WaitDelay = pipesTime
		inGroup(ask)
		lib, err := ask.Output()
		if core, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(lib)), "libcore-*.rlib")); err == nil && len(core) > 0 {
			return cargo, rustc, nil
		}
		without = append(without, rustc)
	}
	what := "no cargo and rustc were found on the PATH"
	if len(without) > 0 {
		what = strings.Join(without, " and ") + " cannot compile for " + RustTarget
	}
	return "", "", host.Fail("build", abi.NewProblem(abi.Unavailable, "%s", what).WithHint("%s", l.needs), ctx.Err())
}

// rustModule gives the module's file, which is in the last of cargo's messages
// that tell of one.
func rustModule(messages []byte) (string, error) {
	module := ""
	for d := json.NewDecoder(bytes.NewReader(messages)); d.More(); {
		var message struct {
			Filenames []string `json:"filenames"`
		}
		if err := d.Decode(&message); err != nil {
			return "", fmt.Errorf("cargo's messages cannot be read: %w", err)
		}
		for _, name := range message.Filenames {
			if filepath.Ext(name) == ".wasm" {
				module = name
			}
		}
	}
	if module == "" {
		return "", errors.New("cargo made no .wasm file")
	}
	return module, nil
}
