package abi

import (
	"errors"

	"github.com/sluicehq/sluice/abi/wire"
	"github.com/sluicehq/sluice/abi/wording"
)

// Names of the host functions in NamespaceHost. Parameters and results are
// i64: each parameter is the handle of a block (see CONTRACT for the shapes);
// a positive result is the handle of a block that the guest frees, 0 is
// nothing, a negative result is the negated handle of a Problem as JSON.
const (
	FuncKVGet          = "sluice_kv_get"          // key -> value, or nothing
	FuncKVPut          = "sluice_kv_put"          // key, value
	FuncKVDelete       = "sluice_kv_delete"       // key
	FuncKVScan         = "sluice_kv_scan"         // ScanQuery -> Page
	FuncStateGet       = "sluice_state_get"       // state key -> JSON, or nothing
	FuncMemoryRecall   = "sluice_memory_recall"   // JSON -> JSON hits
	FuncMemoryRemember = "sluice_memory_remember" // JSON
	FuncBlobRead       = "sluice_blob_read"       // JSON {id, offset, length} -> bytes
	FuncBlobWrite      = "sluice_blob_write"      // bytes, JSON {type, name} -> id
	FuncFilesRead      = "sluice_files_read"      // path -> bytes
	FuncFilesWrite     = "sluice_files_write"     // path, bytes, JSON {if_hash} -> new hash
	FuncFilesList      = "sluice_files_list"      // path -> JSON entries
	FuncFilesRemove    = "sluice_files_remove"    // path
	FuncHTTP           = "sluice_http"            // JSON {method, url, headers}, body -> block
	FuncProgress       = "sluice_progress"        // JSON {done, total, say}
)

// HostFuncs gives the number of parameters of every host function by name.
func HostFuncs() map[string]int {
	return map[string]int{
		FuncKVGet: 1, FuncKVPut: 2, FuncKVDelete: 1, FuncKVScan: 1, FuncStateGet: 1,
		FuncMemoryRecall: 1, FuncMemoryRemember: 1, FuncBlobRead: 1, FuncBlobWrite: 2,
		FuncFilesRead: 1, FuncFilesWrite: 3, FuncFilesList: 1, FuncFilesRemove: 1, FuncHTTP: 2, FuncProgress: 1,
	}
}

// A ScanQuery asks for one page of keys with a prefix, in the order of their
// bytes, from the first key greater than After.
type ScanQuery struct {
	Prefix   string `json:"prefix"`
	After    string `json:"after,omitempty"`
	Limit    int    `json:"limit,omitempty"` // at most and by default ScanPageEntries
	KeysOnly bool   `json:"keys_only,omitempty"`
}

// A Page is one page of a scan. After is the next query's After; it is empty
// on the last page.
type Page struct {
	Entries []Entry
	After   string
}

// An Entry is one key with its value; the value is empty where only keys were
// asked for.
type Entry struct {
	Key   string
	Value []byte
}

// Encode writes a page: u32 count, then for each entry u32 key length, key,
// u32 value length, value, then the After of the next page. Little endian.
func (p Page) Encode() []byte {
	size := 4 + len(p.After)
	for _, e := range p.Entries {
		size += 8 + len(e.Key) + len(e.Value)
	}
	b := appendUint32(make([]byte, 0, size), uint32(len(p.Entries)))
	for _, e := range p.Entries {
		b = appendUint32(b, uint32(len(e.Key)))
		b = append(b, e.Key...)
		b = appendUint32(b, uint32(len(e.Value)))
		b = append(b, e.Value...)
	}
	return append(b, p.After...)
}

// DecodePage reads what Encode writes. Values are parts of b, not copies.
func DecodePage(b []byte) (Page, error) {
	count, b, ok := cutUint32(b)
	// Every entry takes at least eight bytes, which bounds count by the input.
	if !ok || uint64(count)*8 > uint64(len(b)) {
		return Page{}, errors.New(wording.Sprintf("a page of %d bytes cannot hold %d entries", len(b), count))
	}
	p := Page{Entries: make([]Entry, 0, count)}
	for i := range count {
		var key, value []byte
		if key, b, ok = cutBlock(b); ok {
			value, b, ok = cutBlock(b)
		}
		if !ok {
			return Page{}, errors.New(wording.Sprintf("entry %d of the page is cut off", i))
		}
		p.Entries = append(p.Entries, Entry{Key: string(key), Value: value})
	}
	p.After = string(b)
	return p, nil
}

// An HTTPRequest is what sluice_http asks for beside the body. Header names are
// as they are sent; a name's values are joined by ", " where it has several.
type HTTPRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// An HTTPResponse is what a server answered. Header names are lower-case.
type HTTPResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"-"`
}

// Encode writes a response: u32 length of its JSON, the JSON, the body. Little
// endian.
func (r HTTPResponse) Encode() ([]byte, error) {
	head, err := wire.Marshal(r)
	if err != nil {
		return nil, err
	}
	b := appendUint32(make([]byte, 0, 4+len(head)+len(r.Body)), uint32(len(head)))
	return append(append(b, head...), r.Body...), nil
}

// DecodeHTTPResponse reads what Encode writes. The body is a part of b, not a
// copy.
func DecodeHTTPResponse(b []byte) (r HTTPResponse, err error) {
	head, body, ok := cutBlock(b)
	if !ok {
		return r, errors.New(wording.Sprintf("a response of %d bytes is cut off", len(b)))
	}
	if err := wire.Unmarshal(head, &r); err != nil {
		return r, err
	}
	r.Body = body
	return r, nil
}

// A BlobRange asks for a part of a blob. Length 0 is to the end.
type BlobRange struct {
	ID     string `json:"id"`
	Offset int64  `json:"offset,omitempty"`
	Length int64  `json:"length,omitempty"`
}

// A BlobInfo describes a blob that is written.
type BlobInfo struct {
	Type string `json:"type,omitempty"` // media type
	Name string `json:"name,omitempty"` // for people
}

// A FileCondition holds a write to the file's state: the hash that the file
// must have, or "" for a file that must not be there. Without it (nil) the file
// is replaced whatever it holds.
type FileCondition struct {
	IfHash *string `json:"if_hash,omitempty"`
}

// A FileEntry is one file or folder in a list.
type FileEntry struct {
	Name string `json:"name"` // below the folder that was listed
	Dir  bool   `json:"dir,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes
	Hash string `json:"hash,omitempty"` // SHA-256 of the bytes, hex
}

// A RecallQuery asks for memories.
type RecallQuery struct {
	Query string   `json:"query"`
	Kinds []string `json:"kinds,omitempty"` // all that the manifest declares, where none is named
	Limit int      `json:"limit,omitempty"` // at most and by default RecallHits
}

// Check gives what is wrong with a query, or nil.
func (q RecallQuery) Check() *Problem {
	switch {
	case q.Query == "" || len(q.Query) > RecallBytes:
		return NewProblem(BadHostCall, "the query of a recall has %d bytes; give 1 to %d", len(q.Query), RecallBytes).WithField("query")
	case q.Limit < 0 || q.Limit > RecallHits:
		return NewProblem(BadHostCall, "a recall asks for %d memories; it may ask for 1 to %d", q.Limit, RecallHits).WithField("limit")
	}
	return nil
}

// A Memory is something to remember, or what was recalled.
type Memory struct {
	Kind   string  `json:"kind"`
	Text   string  `json:"text"`
	Entity string  `json:"entity,omitempty"` // what it is about
	Score  float64 `json:"score,omitempty"`  // of a hit, 0 to 1
}

// Check gives what is wrong with something to remember, or nil.
func (m Memory) Check() *Problem {
	switch {
	case m.Text == "" || len(m.Text) > MemoryBytes:
		return NewProblem(BadHostCall, "the text of a memory has %d bytes; give 1 to %d", len(m.Text), MemoryBytes).WithField("text")
	case len(m.Entity) > EntityBytes:
		return NewProblem(BadHostCall, "what a memory is about has %d bytes; give at most %d", len(m.Entity), EntityBytes).WithField("entity")
	case m.Score != 0:
		return NewProblem(BadHostCall, "a memory to keep has no score; only a recalled one has").WithField("score")
	}
	return nil
}

// A ProgressReport tells the user how far a call has come.
type ProgressReport struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"` // 0 where it is not known
	Say   string `json:"say,omitempty"`   // one line in the user's language
}

// Check gives what is wrong with a report, or nil. Words that are too long are
// cut and are no mistake.
func (p ProgressReport) Check() *Problem {
	if p.Done < 0 || p.Total < 0 {
		return NewProblem(BadHostCall, "a progress report is negative: %d of %d", p.Done, p.Total)
	}
	return nil
}

func cutBlock(b []byte) (block, rest []byte, ok bool) {
	n, b, ok := cutUint32(b)
	if !ok || uint64(n) > uint64(len(b)) {
		return nil, b, false
	}
	return b[:n:n], b[n:], true
}

func cutUint32(b []byte) (uint32, []byte, bool) {
	if len(b) < 4 {
		return 0, b, false
	}
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24, b[4:], true
}

// appendUint32 appends a number, little endian. Package encoding/binary would
// set itself up in every guest.
func appendUint32(b []byte, n uint32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}
