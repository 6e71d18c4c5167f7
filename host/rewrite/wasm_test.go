package rewrite_test

import (
	"context"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// An engine is one of wazero's.
type engine struct {
	name   string
	config func() wazero.RuntimeConfig
}

func engines() []engine {
	return []engine{
		{"compiler", wazero.NewRuntimeConfigCompiler},
		{"interpreter", wazero.NewRuntimeConfigInterpreter},
	}
}

// A meter is the host's side of metering for tests: it grants slices until a
// limit is reached.
type meter struct {
	slice, limit int64
	granted      int64
	refills      int
}

// unlimited is a slice that nothing in the tests uses up.
const unlimited = int64(1) << 48

type outOfFuel struct{}

func (outOfFuel) Error() string { return "out of fuel" }

type tooDeep struct{}

func (tooDeep) Error() string { return "too deep" }

// refuel implements rewrite.FuelFunc.
func (m *meter) refuel(_ context.Context, _ api.Module, stack []uint64) {
	fuel, depth := int64(stack[0]), int64(stack[1])
	if depth < 0 {
		panic(tooDeep{})
	}
	m.refills++
	for fuel < 0 {
		grant := min(m.slice, m.limit-m.granted)
		if grant == 0 {
			panic(outOfFuel{})
		}
		m.granted += grant
		fuel += grant
		if fuel < 0 { // only the last of many small slices matters
			more := min((-fuel+m.slice-1)/m.slice*m.slice, m.limit-m.granted)
			m.granted += more
			fuel += more
		}
	}
	stack[0] = uint64(fuel)
}

func (m *meter) instantiate(ctx context.Context, r wazero.Runtime) error {
	i64 := api.ValueTypeI64
	_, err := r.NewHostModuleBuilder(rewrite.FuelModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(m.refuel), []api.ValueType{i64, i64}, []api.ValueType{i64}).
		Export(rewrite.FuelFunc).Instantiate(ctx)
	return err
}

// left gives the fuel that an instance has not used yet.
func left(m api.Module) int64 {
	g := m.ExportedGlobal(rewrite.FuelGlobal)
	if g == nil {
		return 0
	}
	return int64(g.Get())
}

// resetDepth is what a host does after a call that did not return.
func resetDepth(m api.Module) {
	if g, ok := m.ExportedGlobal(rewrite.DepthGlobal).(api.MutableGlobal); ok {
		g.Set(rewrite.DefaultDepth)
	}
}

func oracleLeft(m api.Module) int64 { return int64(m.ExportedGlobal(rewrite.OracleGlobal).Get()) }
