package main

import (
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// Bounds of what one call gives, in characters as they are written in JSON: with
// all that stands around them they stay below the 4,000 that a model sees.
const (
	textRoom  = 3600 // of a text, or of all matches
	valueRoom = 2200 // of a value
	namesRoom = 1000 // of names beside it
)

var _ = sdk.Skill("sluice.blobs", "1.0.0", "Reads parts of long results and of uploaded files.",
	sdk.Positioning("Use it where a result says that all of it is in a blob, or the user has uploaded a file: by the blob's id it reads a part, "+
		"finds a text, or takes one value out of JSON. Never to get something again that another tool gives in a smaller part."),
	sdk.Blob(abi.AccessRead),
	// The largest blob, read to its end: 64 MiB at some 50 instructions a byte,
	// on a machine that has other things to do.
	sdk.Limit(abi.Limits{Fuel: 5_000_000_000, Deadline: abi.Duration(60 * time.Second)}),
)

const exampleID = "blob_0123456789abcdef0123456789abcdef01234567"

var _ = sdk.Tool("read_blob", readBlob,
	sdk.Summary("Read a part of a blob as text, from a byte offset on. Gives the offset to read on from."),
	sdk.Example("What does the file begin with?", Range{ID: exampleID}, sdk.Refuses(abi.NotFound)),
	sdk.Example("从 8000 字节处接着读", Range{ID: exampleID, Offset: 8000, Length: 2000}, sdk.Refuses(abi.NotFound)),
)

var _ = sdk.Tool("search_blob", searchBlob,
	sdk.Summary("Find a text in a blob. Gives the byte offset of each place, with what stands around it."),
	sdk.Example("Where does the log speak of a timeout?", Search{ID: exampleID, Text: "timeout", IgnoreCase: true}, sdk.Refuses(abi.NotFound)),
	sdk.Example("在上传的表里找 1001", Search{ID: exampleID, Text: "1001"}, sdk.Refuses(abi.NotFound)),
)

var _ = sdk.Tool("read_blob_value", readValue,
	sdk.Summary("Take one value out of a blob that is JSON, by a path such as items[3].name, or some items as items[10:20]."),
	sdk.Example("Show items 10 to 19 of the result", At{ID: exampleID, Path: "items[10:20]"}, sdk.Refuses(abi.NotFound)),
	sdk.Example("第 4 个商品叫什么？", At{ID: exampleID, Path: "items[3].name"}, sdk.Refuses(abi.NotFound)),
)

// A Range names a part of a blob.
type Range struct {
	ID     string `json:"id" desc:"the blob, as a result or an upload named it" minlen:"1" maxlen:"64"`
	Offset int64  `json:"offset,omitempty" desc:"the byte to begin with, 0 if left out" min:"0"`
	Length int64  `json:"length,omitempty" desc:"bytes to read; as much as can be shown at once, if left out" min:"1" max:"16384"`
}

// A Part is what was read of a blob.
type Part struct {
	Offset int64  `json:"offset" desc:"of the first byte of text, which never begins inside a character"`
	Text   string `json:"text"`
	Next   int64  `json:"next,omitempty" desc:"the offset to read on from; left out where the blob ends"`
}

// A Search says what to find.
type Search struct {
	ID         string `json:"id" desc:"the blob, as a result or an upload named it" minlen:"1" maxlen:"64"`
	Text       string `json:"text" desc:"what to find, to the letter" minlen:"1" maxlen:"200"`
	From       int64  `json:"from,omitempty" desc:"the byte to begin with, 0 if left out" min:"0"`
	Max        int    `json:"max,omitempty" desc:"how many places at most" min:"1" max:"20" default:"10"`
	IgnoreCase bool   `json:"ignore_case,omitempty" desc:"take a for A, in the letters A to Z"`
}

// Matches are the places where a text stands.
type Matches struct {
	Matches  []Match `json:"matches"`
	Searched int64   `json:"searched" desc:"bytes that were looked through"`
	Next     int64   `json:"next,omitempty" desc:"where to search on from; left out where the blob ends"`
}

// A Match is one place, with what stands around it.
type Match struct {
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

// An At names a value of JSON.
type At struct {
	ID   string `json:"id" desc:"the blob, as a result or an upload named it" minlen:"1" maxlen:"64"`
	Path string `json:"path,omitempty" desc:"such as items[3].name, items[10:20] or ['a.b'][0]; all of it if left out" maxlen:"512"`
}

// A Value is what a path leads to.
type Value struct {
	Type   string         `json:"type" enum:"object,list,text,number,boolean,null"`
	Value  abi.RawMessage `json:"value" desc:"as much of it as can be shown: whole items, whole members, the beginning of a text"`
	Cut    bool           `json:"cut,omitempty" desc:"there is more of it"`
	Count  int            `json:"count,omitempty" desc:"items of the list or members of the object, shown or not"`
	Names  []string       `json:"names,omitempty" desc:"of members that are not shown, not all where there are many"`
	Offset int64          `json:"offset" desc:"where the value begins in the blob, in bytes"`
	Length int64          `json:"length" desc:"of the value in the blob, in bytes"`
	Hint   string         `json:"hint,omitempty"`
}

func main() {}
