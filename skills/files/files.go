package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// Bounds of what one call gives a model to read.
const (
	defaultLines = 400
	maxTextBytes = 64 << 10
)

var _ = sdk.Skill("files", "1.0.0", "Lists, reads and writes the files of the session.",
	sdk.Positioning("Use it for documents that you and the user work on in this session. "+
		"Never for products, prices or anything else that a tool of the business keeps. Read a file before you write it."),
	sdk.Files(abi.AccessWrite),
)

var _ = sdk.Tool("list_files", listFiles,
	sdk.Summary("List a folder of the session's files, with sizes and hashes."),
	sdk.Example("What files are there?", Folder{}, sdk.Returns([]abi.FileEntry{})),
	sdk.Example("有哪些文件？", Folder{}, sdk.Returns([]abi.FileEntry{})),
)

var _ = sdk.Tool("read_file", readFile,
	sdk.Summary("Read lines of a text file. Gives the file's hash, which a write needs."),
	sdk.Example("Read notes.md", Part{Path: "notes.md"}, sdk.Refuses(abi.NotFound)),
	sdk.Example("看一下 脚本/开场.md 的前 20 行", Part{Path: "脚本/开场.md", Lines: 20}, sdk.Refuses(abi.NotFound)),
)

var _ = sdk.Tool("write_file_with_hash", writeFile,
	sdk.Summary("Put a whole text file in place of the version whose hash is given, or a new file where none is given."),
	sdk.Write, sdk.Idempotent, sdk.Targets("[args.path]"), sdk.Breadth(abi.One),
	sdk.Verify("data.path == args.path", "{{args.path}} was to be written, and the answer is about {{data.path}}."),
	sdk.Artifact(theFile),
	sdk.Example("Write a list into todo.md", Whole{Path: "todo.md", Text: "- tea\n"}, sdk.Returns(Written{Path: "todo.md", Hash: hashOf("- tea\n"), Bytes: 6, Changed: true})),
	sdk.Example("把开场白写到 脚本/开场.md", Whole{Path: "脚本/开场.md", Text: "大家好！\n"}),
)

var _ = sdk.Tool("replace_block", replaceBlock,
	sdk.Summary("Replace text that stands in a file exactly once. Give enough of the lines around it."),
	sdk.Write, sdk.Idempotent, sdk.Targets("[args.path]"), sdk.Breadth(abi.One),
	sdk.Verify("data.path == args.path", "{{args.path}} was to be written, and the answer is about {{data.path}}."),
	sdk.Artifact(theFile),
	sdk.Example("Change tea to coffee in todo.md", Block{Path: "todo.md", Old: "- tea\n", New: "- coffee\n"}, sdk.Refuses(abi.NotFound)),
	sdk.Example("把 todo.md 里的茶改成咖啡", Block{Path: "todo.md", Old: "- 茶\n", New: "- 咖啡\n"}, sdk.Refuses(abi.NotFound)),
)

// theFile is what a write leaves. It may be empty, and the same write may have
// been done before. What is wrong with its text is the model's to hear of, and
// no reason to keep a draft from it.
var theFile = abi.Artifact{Path: "args.path", Empty: true, Existing: true}

// A Folder names a folder.
type Folder struct {
	Path string `json:"path,omitempty" desc:"the folder, such as notes; leave it out for all files" maxlen:"1024"`
}

// A Part names lines of a file.
type Part struct {
	Path  string `json:"path" desc:"the file, such as notes/todo.md" minlen:"1" maxlen:"1024"`
	From  int    `json:"from,omitempty" desc:"the first line to read, from 1" min:"1"`
	Lines int    `json:"lines,omitempty" desc:"how many lines, 400 if left out" min:"1" max:"2000"`
}

// A Text is what was read of a file.
type Text struct {
	Path  string `json:"path"`
	Hash  string `json:"hash" desc:"of the whole file"`
	From  int    `json:"from" desc:"the first line of text"`
	Lines int    `json:"lines" desc:"lines in text"`
	Total int    `json:"total" desc:"lines in the file"`
	Text  string `json:"text"`
}

// A Whole is a file that is to be written.
type Whole struct {
	Path   string `json:"path" desc:"the file, such as notes/todo.md" minlen:"1" maxlen:"1024"`
	Text   string `json:"text" desc:"all of its text" maxlen:"262144"`
	IfHash string `json:"if_hash,omitempty" desc:"hash of the version that you read; leave it out for a new file" maxlen:"64"`
}

// A Block is text of a file that is to be replaced.
type Block struct {
	Path   string `json:"path" desc:"the file, such as notes/todo.md" minlen:"1" maxlen:"1024"`
	Old    string `json:"old" desc:"the text as it stands in the file, to the letter" minlen:"1" maxlen:"65536"`
	New    string `json:"new" desc:"the text in its place" maxlen:"65536"`
	IfHash string `json:"if_hash,omitempty" desc:"hash of the version that you read" maxlen:"64"`
}

// A Written is what a write left.
type Written struct {
	Path    string `json:"path"`
	Hash    string `json:"hash" desc:"of the file as it is now"`
	Bytes   int    `json:"bytes"`
	Changed bool   `json:"changed" desc:"false where the file was so already"`
}

func listFiles(c sdk.Call, in Folder) ([]abi.FileEntry, error) {
	entries, err := sdk.FileList(c, in.Path)
	if entries == nil {
		entries = []abi.FileEntry{}
	}
	return entries, err
}

func readFile(c sdk.Call, in Part) (Text, error) {
	text, err := load(c, in.Path)
	if err != nil {
		return Text{}, err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	out := Text{Path: in.Path, Hash: hashOf(text), From: max(in.From, 1), Total: len(lines)}
	if out.From > max(len(lines), 1) {
		return Text{}, sdk.Refuse(abi.OutOfBounds, "%s has %d lines", in.Path, len(lines)).WithField("from").WithHint("Read from a line that is there.")
	}
	count := in.Lines
	if count == 0 {
		count = defaultLines
	}
	for _, line := range lines[min(out.From-1, len(lines)):] {
		if out.Lines == count || len(out.Text)+len(line) > maxTextBytes {
			break
		}
		out.Text += line
		out.Lines++
	}
	if out.Lines == 0 && len(lines) > 0 {
		return Text{}, sdk.Refuse(abi.OutputLimit, "line %d of %s is longer than %d bytes", out.From, in.Path, maxTextBytes)
	}
	return out, nil
}

func writeFile(c sdk.Call, in Whole) (Written, error) {
	old, err := sdk.FileRead(c, in.Path)
	switch {
	case err == nil && string(old) == in.Text:
		return written(in.Path, in.Text, false), nil // this very write, done before
	case err == nil && in.IfHash == "":
		return Written{}, sdk.Refuse(abi.Conflict, "%s is there already", in.Path).WithField("if_hash").
			WithHint("Read it first, and give the hash that you get.")
	case err != nil && !isNotFound(err):
		return Written{}, err
	}
	if _, err := sdk.FileWriteIf(c, in.Path, []byte(in.Text), in.IfHash); err != nil {
		return Written{}, err
	}
	return written(in.Path, in.Text, true), nil
}

func replaceBlock(c sdk.Call, in Block) (Written, error) {
	text, err := load(c, in.Path)
	if err != nil {
		return Written{}, err
	}
	if in.IfHash != "" && in.IfHash != hashOf(text) && !replaced(text, in) {
		return Written{}, sdk.Refuse(abi.Conflict, "%s has changed since you read it", in.Path).WithField("if_hash").WithHint("Read it again.")
	}
	switch n := strings.Count(text, in.Old); {
	case n == 0 && replaced(text, in), in.Old == in.New && n == 1:
		return written(in.Path, text, false), nil
	case n == 0:
		return Written{}, notThere(text, in)
	case n > 1:
		return Written{}, sdk.Refuse(abi.Conflict, "the text stands in %s %d times", in.Path, n).WithField("old").
			WithHint("Give more of the lines around the one that you mean.")
	}
	next := strings.Replace(text, in.Old, in.New, 1)
	if _, err := sdk.FileWriteIf(c, in.Path, []byte(next), hashOf(text)); err != nil {
		return Written{}, err
	}
	return written(in.Path, next, true), nil
}

// replaced reports whether the block was replaced before.
func replaced(text string, in Block) bool {
	return in.New != "" && !strings.Contains(text, in.Old) && strings.Count(text, in.New) == 1
}

// notThere names the line that is nearest to what was looked for.
func notThere(text string, in Block) error {
	p := sdk.Refuse(abi.NotFound, "the text does not stand in %s", in.Path).WithField("old")
	first, _, _ := strings.Cut(strings.TrimSpace(in.Old), "\n")
	first = strings.TrimSpace(first)
	for i, line := range strings.Split(text, "\n") {
		if first != "" && strings.EqualFold(strings.Join(strings.Fields(line), " "), strings.Join(strings.Fields(first), " ")) {
			return p.WithHint("Line %d is like it, but for spaces or capitals. Read it again, and give it to the letter.", i+1)
		}
	}
	return p.WithHint("Read the file again, and give the text to the letter.")
}

// load reads a text file.
func load(c sdk.Call, path string) (string, error) {
	b, err := sdk.FileRead(c, path)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", sdk.Refuse(abi.NotAllowed, "%s is no text; it has %d bytes", path, len(b)).WithField("path")
	}
	return string(b), nil
}

func written(path, text string, changed bool) Written {
	return Written{Path: path, Hash: hashOf(text), Bytes: len(text), Changed: changed}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func isNotFound(err error) bool {
	p, ok := err.(*abi.Problem)
	return ok && p.Code == abi.NotFound
}

func main() {}
