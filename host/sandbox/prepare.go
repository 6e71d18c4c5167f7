package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
)

// A prepared is what a module was made into. It depends on the module's bytes
// alone, so that it is made once and kept on the disk beside its machine code.
type prepared struct {
	note
	wasm  []byte // metered, and frozen if it can be
	image []byte // what its memory is before every call; nil if it has none or is not frozen
}

// A note tells how a module was prepared.
type note struct {
	frozen  bool
	Refusal string        `json:"refusal,omitempty"` // why it is not frozen
	Globals []string      `json:"globals,omitempty"` // exports of the globals that a call may change
	Slept   time.Duration `json:"slept,omitempty"`   // by how much its start moved the clock
	Started int64         `json:"started"`           // fuel that its start used
	Took    time.Duration `json:"took"`              // preparing it
}

// Format is the version of what is kept on the disk, and of how a start runs.
// With the versions of the rewriter and the engine it says what a cache holds.
const Format = 1

// Files of a prepared module. Those of the machine code are the engine's.
const (
	preparedFile = "prepared.wasm"
	imageFile    = "prepared.image"
	noteFile     = "prepared.json"
)

// keyOf gives the name of a prepared module's folder.
func (s *Sandbox) keyOf(digest string) string {
	key := fmt.Sprintf("%s-%d.%d", digest, rewrite.Version, Format)
	if s.cfg.Fresh {
		key += "-fresh"
	}
	return key
}

func (p *prepared) write(dir string) error {
	text, err := json.Marshal(p.note)
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{preparedFile: p.wasm, imageFile: p.image, noteFile: text} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// readPrepared reads what write left, whose sums were checked.
func readPrepared(dir string) (*prepared, error) {
	p := &prepared{}
	text, err := os.ReadFile(filepath.Join(dir, noteFile))
	if err == nil {
		err = json.Unmarshal(text, &p.note)
	}
	if err == nil {
		p.wasm, err = os.ReadFile(filepath.Join(dir, preparedFile))
	}
	if err == nil {
		p.image, err = os.ReadFile(filepath.Join(dir, imageFile))
	}
	p.frozen = p.Refusal == ""
	return p, err
}

// rewrite validates a module, has it started once, and gives it frozen after
// its start and metered; or metered only, where it cannot be frozen. The
// original is validated before anything else: what is rewritten is valid even
// where the original was not.
func (s *Sandbox) rewrite(ctx context.Context, wasm []byte, o outline) (p *prepared, err error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithDebugInfoEnabled(false))
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, unusable(fmt.Errorf("the engine fails on it: %v\n%s", r, debug.Stack()))
		}
		err = errors.Join(err, r.Close(ctx))
	}()
	valid, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, unusable(err)
	}
	if err := valid.Close(ctx); err != nil {
		return nil, err
	}
	kernel, err := exportAll(ctx, r)
	if err != nil {
		return nil, err
	}
	switch {
	case s.cfg.Fresh:
		return meterOnly(wasm, "freezing is switched off")
	case o.memoryPages*uint64(abi.PageBytes) > uint64(startMemory), o.tableItems > startTables:
		return meterOnly(wasm, "it starts with too much memory or too large tables")
	}
	p, err = s.freeze(ctx, r, kernel, wasm)
	var refusal *unfreezable
	if errors.As(err, &refusal) {
		return meterOnly(wasm, refusal.reason)
	}
	return p, err
}

// unusable is the engine's reason for refusing a module.
func unusable(err error) error {
	return fail(abi.NewProblem(abi.CorruptModule, "the module cannot be used: %v", explain(err)), err)
}

func meterOnly(wasm []byte, refusal string) (*prepared, error) {
	metered, err := rewrite.Meter(wasm, rewrite.MeterOptions{})
	if err != nil {
		return nil, err
	}
	return &prepared{wasm: metered, note: note{Refusal: refusal}}, nil
}

// An unfreezable says why a module gets a fresh instance for every call.
type unfreezable struct{ reason string }

func (u *unfreezable) Error() string { return u.reason }

// freeze starts the module and makes its state after that the state before
// every call.
func (s *Sandbox) freeze(ctx context.Context, r wazero.Runtime, kernel wazero.CompiledModule, wasm []byte) (*prepared, error) {
	exposed, names, err := rewrite.Expose(wasm)
	if err != nil {
		return nil, &unfreezable{reasonOf(err)}
	}
	metered, err := rewrite.Meter(exposed, rewrite.MeterOptions{})
	if err != nil {
		return nil, err
	}
	st, err := s.start(ctx, r, kernel, metered, names)
	if err != nil {
		return nil, err
	}
	// The image is kept beside the module, which gets no data: an instance maps
	// it instead of copying it.
	frozen, err := rewrite.Freeze(exposed, rewrite.Image{Memory: make([]byte, len(st.memory)), Globals: st.globals})
	if err == nil {
		frozen, err = rewrite.Meter(frozen, rewrite.MeterOptions{})
	}
	if err != nil {
		return nil, err
	}
	p := &prepared{wasm: frozen, image: st.memory, note: note{frozen: true, Slept: st.slept, Started: st.fuel}}
	for _, g := range names.Globals {
		p.Globals = append(p.Globals, g.Export)
	}
	return p, nil
}

func reasonOf(err error) string {
	var p *abi.Problem
	if errors.As(err, &p) {
		return p.Message
	}
	return err.Error()
}
