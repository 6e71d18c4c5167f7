// A guest that looks at what a call gives it, and takes more than it should.
package main

import (
	crand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmimport extism:host/user sluice_kv_get
func kvGet(key uint64) int64

//go:wasmimport extism:host/user sluice_kv_put
func kvPut(key, value uint64) int64

// world tells everything that a guest can see besides its input.
//
//go:wasmexport world
func world() int32 {
	stdin, stdinErr := io.ReadAll(os.Stdin)
	_, rootErr := os.ReadDir("/")
	_, fileErr := os.ReadFile("/etc/passwd")
	createErr := os.WriteFile("/tmp/x", []byte("x"), 0o600)
	return output(map[string]any{
		"args": os.Args, "env": os.Environ(), "stdin": string(stdin), "stdin_error": fmt.Sprint(stdinErr),
		"root": rootErr != nil, "file": fileErr != nil, "create": createErr != nil,
	})
}

// times gives the clock before and after a sleep of the input's duration.
//
//go:wasmexport times
func times() int32 {
	d, err := time.ParseDuration(pdk.InputString())
	if err != nil {
		return fail(err)
	}
	start := time.Now()
	time.Sleep(d)
	end := time.Now()
	return output([]any{start.UTC(), end.UTC(), end.Sub(start)})
}

//go:wasmexport randoms
func randoms() int32 {
	b := make([]byte, 16)
	_, _ = crand.Read(b)
	order := ""
	for k := range map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true} {
		order += strconv.Itoa(k)
	}
	return output([]string{hex.EncodeToString(b), strconv.FormatUint(rand.Uint64(), 10), order})
}

var kept []byte

// count gives how often it was called in this instance.
//
//go:wasmexport count
func count() int32 {
	kept = append(kept, 'x')
	pdk.OutputString(strconv.Itoa(len(kept)))
	return 0
}

// take allocates as many MiB as the input says.
//
//go:wasmexport take
func take() int32 {
	n, err := strconv.Atoi(pdk.InputString())
	if err != nil {
		return fail(err)
	}
	held := make([][]byte, 0, n)
	for range n {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
	}
	pdk.OutputString(strconv.Itoa(len(held)))
	return 0
}

//go:wasmexport spin
func spin() int32 {
	for i := 0; ; i++ {
		kept = append(kept[:0], byte(i))
	}
}

//go:wasmexport sleep_for_ever
func sleepForEver() int32 {
	for {
		time.Sleep(time.Hour)
	}
}

//go:wasmexport panics
func panics() int32 { panic("the handler is broken") }

// exit ends the process with the input as code.
//
//go:wasmexport exit
func exit() int32 {
	n, _ := strconv.Atoi(pdk.InputString())
	pdk.OutputString("output before the end")
	os.Exit(n)
	return 0
}

// print writes as many MiB as the input says.
//
//go:wasmexport print
func print() int32 {
	n, err := strconv.Atoi(pdk.InputString())
	if err != nil {
		return fail(err)
	}
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range n << 10 {
		_, _ = os.Stdout.Write(line)
	}
	return 0
}

//go:wasmexport print_lines
func printLines() int32 {
	fmt.Print("one\ntwo\n")
	fmt.Fprint(os.Stderr, "three")
	fmt.Fprint(os.Stderr, " and four\n\nunfinished")
	pdk.Log(pdk.LogInfo, "logged")
	return 0
}

//go:wasmexport log_storm
func logStorm() int32 {
	for i := 0; ; i++ {
		pdk.Log(pdk.LogInfo, strconv.Itoa(i))
	}
}

// get answers with what sluice_kv_get gives for the input: "nothing", "block "
// and the bytes, or "problem " and the JSON.
//
//go:wasmexport get
func get() int32 {
	key := pdk.AllocateBytes(pdk.Input())
	return show(kvGet(key.Offset()))
}

// get_bad passes the number in the input as a handle.
//
//go:wasmexport get_bad
func getBad() int32 {
	h, err := strconv.ParseUint(pdk.InputString(), 0, 64)
	if err != nil {
		return fail(err)
	}
	return show(kvGet(h))
}

//go:wasmexport get_freed
func getFreed() int32 {
	key := pdk.AllocateString("key")
	key.Free()
	return show(kvGet(key.Offset()))
}

//go:wasmexport put_empty
func putEmpty() int32 {
	key := pdk.AllocateString("key")
	return show(kvPut(key.Offset(), 0))
}

//go:wasmexport host_storm
func hostStorm() int32 {
	key := pdk.AllocateString("key")
	for {
		kvGet(key.Offset())
	}
}

// moves gets as much as it is given, and frees it.
//
//go:wasmexport moves
func moves() int32 {
	key := pdk.AllocateString("key")
	for {
		m := pdk.NewMemory(uint64(kvGet(key.Offset())), 0)
		m.Free()
	}
}

func show(result int64) int32 {
	switch {
	case result == 0:
		pdk.OutputString("nothing")
	case result > 0:
		pdk.OutputString("block " + string(pdk.ParamBytes(uint64(result))))
	default:
		pdk.OutputString("problem " + string(pdk.ParamBytes(uint64(-result))))
	}
	return 0
}

func output(v any) int32 {
	b, err := json.Marshal(v)
	if err != nil {
		return fail(err)
	}
	pdk.Output(b)
	return 0
}

func fail(err error) int32 {
	pdk.SetError(err)
	return 1
}
