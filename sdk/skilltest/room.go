package skilltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ sdk.HostCaller = (*grants)(nil)

// A room is what a session has beside kv and state, in memory.
type room struct {
	files    map[string][]byte
	blobs    map[string]blobOf
	memories []abi.Memory
	server   func(abi.HTTPRequest, []byte) abi.HTTPResponse
	drawn    int // blobs that were given an id
}

type blobOf struct {
	info abi.BlobInfo
	data []byte
}

func newRoom() *room { return &room{files: map[string][]byte{}, blobs: map[string]blobOf{}} }

func (r *room) clone() *room {
	c := *r
	c.files, c.blobs, c.memories = maps.Clone(r.files), maps.Clone(r.blobs), slices.Clone(r.memories)
	return &c
}

// PutFile sets a file of the session.
func (h *Host) PutFile(name string, data []byte) {
	h.t.Helper()
	if p := abi.CheckPath(name); p != nil {
		h.t.Fatal(p)
	}
	h.room.files[name] = bytes.Clone(data)
}

// File gives a file of the session. It reports false where there is none.
func (h *Host) File(name string) ([]byte, bool) {
	data, found := h.room.files[name]
	return bytes.Clone(data), found
}

// PutBlob adds a blob to the session and gives its id.
func (h *Host) PutBlob(info abi.BlobInfo, data []byte) string { return h.room.addBlob(info, data) }

// Blob gives a blob of the session. It reports false where there is none.
func (h *Host) Blob(id string) (abi.BlobInfo, []byte, bool) {
	b, found := h.room.blobs[id]
	return b.info, bytes.Clone(b.data), found
}

// PutMemory adds something that can be recalled: by a query of which any word
// is in its text.
func (h *Host) PutMemory(m abi.Memory) { h.room.memories = append(h.room.memories, m) }

// Memories gives everything that is remembered, oldest first.
func (h *Host) Memories() []abi.Memory { return slices.Clone(h.room.memories) }

// Reports gives the progress that calls have told, also of calls that failed.
func (h *Host) Reports() []abi.ProgressReport { return slices.Clone(h.reports) }

// ServeHTTP answers the requests of calls to the hosts that the skill declares.
func (h *Host) ServeHTTP(answer func(r abi.HTTPRequest, body []byte) abi.HTTPResponse) {
	h.room.server = answer
}

// addBlob gives a blob an id of the host's form.
func (r *room) addBlob(info abi.BlobInfo, data []byte) string {
	r.drawn++
	sum := sha256.Sum256(fmt.Append(nil, r.drawn))
	id := "blob_" + hex.EncodeToString(sum[:20])
	r.blobs[id] = blobOf{info, bytes.Clone(data)}
	return id
}

// used counts what one call has used of its bounds.
type used struct {
	fileBytes              map[string]int
	blobs, blobBytes, kept int
}

// HostCall serves the host functions that have no method of their own.
func (g *grants) HostCall(name string, args ...[]byte) ([]byte, bool, error) {
	if g.calls++; g.calls > abi.HostCalls {
		return nil, false, abi.NewProblem(abi.QuotaReached, "the call made more than %d host calls", abi.HostCalls)
	}
	for _, a := range args {
		if err := g.move(len(a)); err != nil {
			return nil, false, err
		}
	}
	serve, problem := g.granted(name)
	var block []byte
	if problem == nil {
		block, problem = serve(args)
	}
	if problem != nil {
		return nil, false, problem
	}
	return block, block != nil, g.move(len(block))
}

type hostFunc func(args [][]byte) ([]byte, *abi.Problem)

// granted gives a function, if the skill declares its capability and the tool
// may use it.
func (g *grants) granted(name string) (hostFunc, *abi.Problem) {
	c := g.manifest.Capabilities
	memory := abi.MemoryUse{}
	if c.Memory != nil {
		memory = *c.Memory
	}
	f, known := map[string]struct {
		declared, writes bool
		serve            hostFunc
	}{
		abi.FuncBlobRead:       {c.Blob != "", false, g.readBlob},
		abi.FuncBlobWrite:      {c.Blob == abi.AccessWrite, true, g.writeBlob},
		abi.FuncFilesRead:      {c.Files != "", false, g.readFile},
		abi.FuncFilesList:      {c.Files != "", false, g.listFiles},
		abi.FuncFilesWrite:     {c.Files == abi.AccessWrite, true, g.writeFile},
		abi.FuncFilesRemove:    {c.Files == abi.AccessWrite, true, g.removeFile},
		abi.FuncMemoryRecall:   {len(memory.Recall) > 0, false, g.recall},
		abi.FuncMemoryRemember: {len(memory.Remember) > 0, true, g.remember},
		abi.FuncProgress:       {c.Progress, false, g.progress},
		abi.FuncHTTP:           {len(c.HTTP) > 0, false, g.http},
	}[name]
	switch {
	case !known || !f.declared:
		return nil, abi.NewProblem(abi.NotGranted, "%s does not declare what %s needs", g.manifest.Name, name)
	case f.writes && !g.write:
		return nil, abi.NewProblem(abi.NotGranted, "a tool that only reads may not call %s", name).WithHint("Declare the tool with sdk.Write.")
	}
	return f.serve, nil
}

func (g *grants) readBlob(args [][]byte) ([]byte, *abi.Problem) {
	r, problem := argument[abi.BlobRange](args[0])
	if problem == nil {
		problem = r.Check()
	}
	if problem != nil {
		return nil, problem
	}
	b, found := g.room.blobs[r.ID]
	size := int64(len(b.data))
	switch {
	case !found:
		return nil, abi.NewProblem(abi.NotFound, "the session has no blob %.60q", r.ID).WithField("id")
	case r.Offset > size:
		return nil, abi.NewProblem(abi.OutOfBounds, "the blob has %d bytes, and the read begins at %d", size, r.Offset).WithField("offset")
	}
	end := size
	if r.Length > 0 {
		end = min(size, r.Offset+r.Length)
	}
	return append([]byte{}, b.data[r.Offset:end]...), nil
}

func (g *grants) writeBlob(args [][]byte) ([]byte, *abi.Problem) {
	info, problem := argument[abi.BlobInfo](args[1])
	if problem == nil {
		problem = abi.CheckBlob(info, len(args[0]))
	}
	switch {
	case problem != nil:
		return nil, problem
	case g.used.blobs == abi.CallBlobs:
		return nil, abi.NewProblem(abi.QuotaReached, "one call may write %d blobs", abi.CallBlobs)
	case abi.Size(g.used.blobBytes+len(args[0])) > abi.CallWriteBytes:
		return nil, abi.NewProblem(abi.QuotaReached, "one call may write %s to blobs", abi.CallWriteBytes)
	}
	g.used.blobs, g.used.blobBytes = g.used.blobs+1, g.used.blobBytes+len(args[0])
	return []byte(g.room.addBlob(info, args[0])), nil
}

func (g *grants) readFile(args [][]byte) ([]byte, *abi.Problem) {
	data, problem := g.file(string(args[0]))
	return append([]byte{}, data...), problem
}

func (g *grants) file(name string) ([]byte, *abi.Problem) {
	if problem := abi.CheckPath(name); problem != nil {
		return nil, problem
	}
	data, found := g.room.files[name]
	if !found {
		return nil, g.noFile(name)
	}
	return data, nil
}

func (g *grants) noFile(name string) *abi.Problem {
	known := slices.Sorted(maps.Keys(g.room.files))
	return abi.NewProblem(abi.NotFound, "there is nothing at %s", abi.EchoPath(name)).WithField("path").WithCandidates(abi.Nearest(name, known, 10)...)
}

func (g *grants) listFiles(args [][]byte) ([]byte, *abi.Problem) {
	folder := string(args[0])
	if problem := abi.CheckFolder(folder); problem != nil {
		return nil, problem
	}
	prefix := ""
	if folder != "" && folder != "." {
		prefix = folder + "/"
	}
	found := map[string]abi.FileEntry{}
	for name, data := range g.room.files {
		rest, inside := strings.CutPrefix(name, prefix)
		if !inside {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			found[first] = abi.FileEntry{Name: first, Dir: true}
		} else {
			found[rest] = abi.FileEntry{Name: rest, Size: int64(len(data)), Hash: hashOf(data)}
		}
	}
	if len(found) == 0 && prefix != "" {
		return nil, g.noFile(folder)
	}
	entries := []abi.FileEntry{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		entries = append(entries, found[name])
	}
	return encode(entries)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (g *grants) writeFile(args [][]byte) ([]byte, *abi.Problem) {
	name, data := string(args[0]), args[1]
	condition, problem := argument[abi.FileCondition](args[2])
	for _, check := range []func() *abi.Problem{
		func() *abi.Problem { return abi.CheckPath(name) },
		func() *abi.Problem { return g.place(name) },
		func() *abi.Problem { return g.changes(name, len(data)) },
		func() *abi.Problem { return g.held(name, hashOf(data), condition) },
	} {
		if problem == nil {
			problem = check()
		}
	}
	if problem != nil {
		return nil, problem
	}
	g.room.files[name] = bytes.Clone(data)
	return []byte(hashOf(data)), nil
}

// place says why no file can be there, or nothing.
func (g *grants) place(name string) *abi.Problem {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if _, taken := g.room.files[folder]; taken {
			return abi.NewProblem(abi.Conflict, "%s is a file and not a folder", abi.EchoPath(folder)).WithField("path")
		}
	}
	total := 0
	for other, data := range g.room.files {
		if strings.HasPrefix(other, name+"/") {
			return abi.NewProblem(abi.Conflict, "%s is a folder", abi.EchoPath(name)).WithField("path")
		}
		total += len(data)
	}
	if _, exists := g.room.files[name]; !exists && len(g.room.files) >= abi.SessionFiles || abi.Size(total) > abi.SessionFileBytes {
		return abi.NewProblem(abi.QuotaReached, "the session has all the files that it may have")
	}
	return nil
}

// changes counts a change of one path.
func (g *grants) changes(name string, size int) *abi.Problem {
	if g.used.fileBytes == nil {
		g.used.fileBytes = map[string]int{}
	}
	_, again := g.used.fileBytes[name]
	if !again && len(g.used.fileBytes) == abi.CallWrites {
		return abi.NewProblem(abi.QuotaReached, "one call may change %d files", abi.CallWrites)
	}
	total := size
	for other, n := range g.used.fileBytes {
		if other != name {
			total += n
		}
	}
	if abi.Size(total) > abi.CallWriteBytes {
		return abi.NewProblem(abi.QuotaReached, "one call may write %s to files", abi.CallWriteBytes)
	}
	g.used.fileBytes[name] = size
	return nil
}

func (g *grants) held(name, hash string, condition abi.FileCondition) *abi.Problem {
	if condition.IfHash == nil {
		return nil
	}
	current := ""
	if data, exists := g.room.files[name]; exists {
		current = hashOf(data)
	}
	if current != *condition.IfHash && current != hash {
		return abi.NewProblem(abi.Conflict, "the file %s has another hash than the write asks for", abi.EchoPath(name)).WithField("if_hash")
	}
	return nil
}

func (g *grants) removeFile(args [][]byte) ([]byte, *abi.Problem) {
	name := string(args[0])
	_, problem := g.file(name)
	if problem == nil {
		problem = g.changes(name, 0)
	}
	if problem == nil {
		delete(g.room.files, name)
	}
	return nil, problem
}

func (g *grants) recall(args [][]byte) ([]byte, *abi.Problem) {
	q, problem := argument[abi.RecallQuery](args[0])
	if problem == nil {
		problem = q.Check()
	}
	if problem != nil {
		return nil, problem
	}
	declared := g.manifest.Capabilities.Memory.Recall
	if len(q.Kinds) == 0 {
		q.Kinds = declared
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(declared, kind) {
			return nil, abi.NewProblem(abi.NotGranted, "%s does not declare that it recalls %.60q", g.manifest.Name, kind)
		}
	}
	hits := []abi.Memory{}
	for _, m := range g.recalled {
		if slices.Contains(q.Kinds, m.Kind) && slices.ContainsFunc(strings.Fields(q.Query), func(word string) bool { return strings.Contains(m.Text, word) }) {
			hits = append(hits, m)
		}
	}
	if q.Limit > 0 {
		hits = hits[:min(len(hits), q.Limit)]
	}
	return encode(hits[:min(len(hits), abi.RecallHits)])
}

func (g *grants) remember(args [][]byte) ([]byte, *abi.Problem) {
	m, problem := argument[abi.Memory](args[0])
	if problem == nil {
		problem = m.Check()
	}
	switch {
	case problem != nil:
		return nil, problem
	case !slices.Contains(g.manifest.Capabilities.Memory.Remember, m.Kind):
		return nil, abi.NewProblem(abi.NotGranted, "%s does not declare that it remembers %.60q", g.manifest.Name, m.Kind)
	case g.used.kept == abi.CallMemories:
		return nil, abi.NewProblem(abi.QuotaReached, "one call may remember %d things", abi.CallMemories)
	}
	g.used.kept++
	g.room.memories = append(g.room.memories, m)
	return nil, nil
}

func (g *grants) progress(args [][]byte) ([]byte, *abi.Problem) {
	p, problem := argument[abi.ProgressReport](args[0])
	if problem == nil {
		problem = p.Check()
	}
	if problem == nil {
		g.reports = append(g.reports, p)
	}
	return nil, problem
}

func (g *grants) http(args [][]byte) ([]byte, *abi.Problem) {
	r, problem := argument[abi.HTTPRequest](args[0])
	switch {
	case problem != nil:
		return nil, problem
	case g.room.server == nil:
		return nil, abi.NewProblem(abi.Unavailable, "nothing answers %s; set it up with ServeHTTP", r.URL)
	}
	b, err := g.room.server(r, args[1]).Encode()
	if err != nil {
		return nil, abi.NewProblem(abi.Unavailable, "the answer cannot be written: %v", err)
	}
	return b, nil
}

// argument reads a JSON argument as strictly as the host does.
func argument[T any](raw []byte) (v T, problem *abi.Problem) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&v)
	if _, more := d.Token(); err != nil || more != io.EOF || abi.Size(len(raw)) > abi.ArgumentBytes || bytes.TrimLeft(raw, " \t\r\n")[0] != '{' || !utf8.Valid(raw) {
		return v, abi.NewProblem(abi.BadHostCall, "an argument is not the JSON it should be")
	}
	return v, nil
}

func encode(v any) ([]byte, *abi.Problem) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: the result of a host function does not encode: " + err.Error())
	}
	return b, nil
}
