package grant

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/sandbox"
)

// addFiles grants sluice_files_read and _list, and _write and _remove where the
// mode says so, from one call's view. Paths and sizes are the view's to check.
func (g *Grant) addFiles(mode abi.AccessMode) {
	switch {
	case mode == "":
		return
	case g.config.Files == nil:
		g.add(absent("folder for files", abi.FuncFilesRead, abi.FuncFilesList, abi.FuncFilesWrite, abi.FuncFilesRemove)...)
		return
	}
	g.files = g.config.Files.View(g.call.Session)
	g.add(fileReads(g.files)...)
	g.addWrites(mode, fileWrites(g.files)...)
}

func fileReads(view *files.View) []sandbox.Function {
	return []sandbox.Function{
		{Name: abi.FuncFilesRead, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			data, err := view.Read(ctx, string(args[0]))
			if err == nil && data == nil {
				data = []byte{} // an empty file is not nothing
			}
			return data, host.ProblemOf(err)
		}},
		{Name: abi.FuncFilesList, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			entries, err := view.List(ctx, string(args[0]))
			if err != nil {
				return nil, host.ProblemOf(err)
			}
			return encode(entries), nil
		}},
	}
}

func fileWrites(view *files.View) []sandbox.Function {
	return []sandbox.Function{
		{Name: abi.FuncFilesWrite, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			condition, problem := decode[abi.FileCondition](abi.FuncFilesWrite, args[2])
			if problem != nil {
				return nil, problem
			}
			hash, err := view.Write(ctx, string(args[0]), args[1], condition)
			if err != nil {
				return nil, host.ProblemOf(err)
			}
			return []byte(hash), nil
		}},
		{Name: abi.FuncFilesRemove, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			return nil, host.ProblemOf(view.Remove(ctx, string(args[0])))
		}},
	}
}

// encode writes what a guest gets as JSON.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: the result of a host function does not encode: " + err.Error())
	}
	return b
}
