// A guest that uses every part of Extism's Go library; the tests run it here
// and under the reference host and compare.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmexport echo
func echo() int32 {
	pdk.Output(pdk.Input())
	return 0
}

//go:wasmexport head
func head() int32 {
	in := pdk.Input()
	pdk.Output(in[:min(len(in), 64<<10)])
	return 0
}

//go:wasmexport empty
func empty() int32 { return 0 }

//go:wasmexport empty_output
func emptyOutput() int32 {
	pdk.Output(nil)
	return 0
}

//go:wasmexport output_twice
func outputTwice() int32 {
	pdk.OutputString("first")
	pdk.OutputString("the second counts")
	return 0
}

//go:wasmexport fail
func fail() int32 {
	pdk.SetError(errors.New("the shelf 货架 is empty"))
	return 1
}

//go:wasmexport fail_with_output
func failWithOutput() int32 {
	pdk.OutputString("half of it")
	pdk.SetErrorString("stopped half way")
	return 3
}

//go:wasmexport fail_silently
func failSilently() int32 { return -7 }

//go:wasmexport error_but_zero
func errorButZero() int32 {
	pdk.OutputString("output")
	pdk.SetErrorString("yet an error")
	return 0
}

//go:wasmexport error_cleared
func errorCleared() int32 {
	pdk.SetErrorString("no")
	pdk.SetErrorString("")
	pdk.OutputString("fine")
	return 0
}

//go:wasmexport long_error
func longError() int32 {
	pdk.SetErrorString(string(bytes.Repeat([]byte("e"), 5000)))
	return 1
}

//go:wasmexport logs
func logs() int32 {
	pdk.Log(pdk.LogDebug, "debug text")
	pdk.Log(pdk.LogInfo, "info 信息")
	pdk.Log(pdk.LogWarn, "")
	pdk.Log(pdk.LogError, "error text")
	pdk.Log(pdk.LogTrace, "trace, which the library sends as an error")
	return 0
}

// The input is the number of bytes to answer with.
//
//go:wasmexport produce
func produce() int32 {
	n, err := strconv.Atoi(pdk.InputString())
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i*7 + i>>8)
	}
	pdk.Output(out)
	return 0
}

//go:wasmexport config
func config() int32 {
	var found []string
	for _, key := range []string{"shop", "empty", "missing", ""} {
		value, ok := pdk.GetConfig(key)
		found = append(found, key+"="+value+":"+strconv.FormatBool(ok))
	}
	return output(found)
}

//go:wasmexport vars
func vars() int32 {
	before := pdk.GetVar("stock")
	pdk.SetVar("stock", []byte("17"))
	pdk.SetVar("stock", []byte("16"))
	pdk.SetVarInt("sold", 42)
	pdk.SetVar("gone", []byte("x"))
	pdk.RemoveVar("gone")
	return output([]string{
		string(before), string(pdk.GetVar("stock")), strconv.Itoa(pdk.GetVarInt("sold")), string(pdk.GetVar("gone")), string(pdk.GetVar("never")),
	})
}

// Blocks end where others begin, are freed and used again, and tell where
// they lie.
//
//go:wasmexport blocks
func blocks() int32 {
	var seen []uint64
	for _, n := range []int{1065, 288, 128, 0, 70000, 1} {
		seen = append(seen, allocate(n).Offset())
	}
	kept := pdk.AllocateString("kept")
	freed := allocate(300)
	freed.Free()
	again := allocate(20)
	found, inside := pdk.FindMemory(kept.Offset()), pdk.FindMemory(freed.Offset()+1)
	seen = append(seen, kept.Offset(), freed.Offset(), again.Offset(), found.Length(), inside.Length())
	var texts []string
	for _, v := range seen {
		texts = append(texts, strconv.FormatUint(v, 10))
	}
	return output(append(texts, string(kept.ReadBytes())))
}

func allocate(n int) *pdk.Memory {
	m := pdk.Allocate(n)
	return &m
}

//go:wasmexport vars_too_many
func varsTooMany() int32 {
	for i := range 100 {
		pdk.SetVar("v"+strconv.Itoa(i), make([]byte, 100_000))
	}
	return 0
}

//go:wasmexport http
func httpRequest() int32 {
	pdk.NewHTTPRequest(pdk.MethodGet, "http://127.0.0.1:1/").Send()
	return 0
}

type fetched struct {
	Status  uint16            `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

// The input is requests, one after the other; what comes out is their answers.
//
//go:wasmexport fetch
func fetch() int32 {
	var requests []struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	if err := json.Unmarshal(pdk.Input(), &requests); err != nil {
		pdk.SetError(err)
		return 1
	}
	answers := []fetched{}
	for _, r := range requests {
		request := pdk.NewHTTPRequest(pdk.MethodGet, r.URL)
		if r.Method != "" {
			request = pdk.NewHTTPRequest(methods[r.Method], r.URL)
		}
		for name, value := range r.Headers {
			request.SetHeader(name, value)
		}
		if r.Body != "" {
			request.SetBody([]byte(r.Body))
		}
		response := request.Send()
		answers = append(answers, fetched{response.Status(), response.Headers(), response.Body()})
	}
	return output(answers)
}

var methods = map[string]pdk.HTTPMethod{"POST": pdk.MethodPost, "PUT": pdk.MethodPut, "HEAD": pdk.MethodHead, "DELETE": pdk.MethodDelete}

func output(v any) int32 {
	b, err := json.Marshal(v)
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.Output(b)
	return 0
}
