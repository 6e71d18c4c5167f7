package measure

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of a folder. The largest that is known has 4,221 questions.
const (
	maxLineBytes = 1 << 20
	maxLines     = 1_000_000
)

// A Folder is a labelled set of texts and questions.
type Folder struct {
	Name    string // the folder's own
	Digest  string // of its files, in hexadecimal: another one is another labelled set
	Texts   []Text
	Queries []Query
	scopes  []string
	dates   map[place]time.Time
}

// A place is a session of a scope.
type place struct {
	scope   string
	session int
}

// A Text is one thing that can be found: a turn of a conversation, or a passage.
type Text struct {
	ID      int    `json:"id"`
	Scope   string `json:"scope"`
	Session int    `json:"session"` // 0 where it is of none
	Text    string `json:"text"`    // of a turn: "speaker: words"
}

// A Query is a question, and the texts that answer it.
type Query struct {
	ID       int    `json:"id"`
	Scope    string `json:"scope"`
	Category string `json:"cat"`
	Text     string `json:"text"`
	Relevant []int  `json:"rel"`
}

// Folders gives the labelled folders at a path: itself, or those inside it, by name.
func Folders(path string) ([]string, error) {
	inside, err := filepath.Glob(filepath.Join(path, "*", "queries.jsonl"))
	if err != nil {
		return nil, failed("measure.Folders", path, err)
	}
	own, err := filepath.Glob(filepath.Join(path, "queries.jsonl"))
	if err != nil {
		return nil, failed("measure.Folders", path, err)
	}
	var folders []string
	for _, file := range slices.Concat(own, inside) {
		folders = append(folders, filepath.Dir(file))
	}
	if len(folders) == 0 {
		return nil, failed("measure.Folders", path, errors.New("no queries.jsonl is in it, nor in a folder of it"))
	}
	return folders, nil
}

// Read reads a folder whole.
func Read(path string) (*Folder, error) {
	f := &Folder{Name: filepath.Base(path), dates: map[place]time.Time{}}
	var err error
	sum := sha256.New()
	if f.Texts, err = lines[Text](filepath.Join(path, "docs.jsonl"), sum); err != nil {
		return nil, failed("measure.Read", path, err)
	}
	if f.Queries, err = lines[Query](filepath.Join(path, "queries.jsonl"), sum); err != nil {
		return nil, failed("measure.Read", path, err)
	}
	if err := f.readDates(filepath.Join(path, "sessions.jsonl"), sum); err != nil {
		return nil, failed("measure.Read", path, err)
	}
	f.Digest = hex.EncodeToString(sum.Sum(nil))
	for _, text := range f.Texts {
		f.scopes = append(f.scopes, text.Scope)
	}
	slices.Sort(f.scopes)
	f.scopes = slices.Compact(f.scopes)
	return f, nil
}

func failed(op, path string, err error) error {
	return host.Fail(op, abi.NewProblem(abi.NotFound, "%s is no folder of labelled data: %v", path, err), err)
}

func (f *Folder) readDates(file string, sum io.Writer) error {
	type session struct {
		Scope   string `json:"scope"`
		Session int    `json:"session"`
		Date    string `json:"date"`
	}
	sessions, err := lines[session](file, sum)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range sessions {
		at, err := time.Parse("3:04 pm on 2 January, 2006", s.Date)
		if err != nil {
			return fmt.Errorf("session %d of %s: %w", s.Session, s.Scope, err)
		}
		f.dates[place{s.Scope, s.Session}] = at
	}
	return nil
}

// lines reads one value of each line, and adds the file's digest to a sum.
func lines[T any](file string, sum io.Writer) (values []T, err error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	own := sha256.New()
	scanner := bufio.NewScanner(io.TeeReader(opened, own))
	scanner.Buffer(nil, maxLineBytes)
	for scanner.Scan() {
		var value T
		if err := json.Unmarshal(scanner.Bytes(), &value); err != nil {
			return nil, fmt.Errorf("line %d of %s: %w", len(values)+1, filepath.Base(file), err)
		}
		if values = append(values, value); len(values) > maxLines {
			return nil, fmt.Errorf("%s has more than %d lines", filepath.Base(file), maxLines)
		}
	}
	_, err = sum.Write(own.Sum(nil))
	return values, errors.Join(scanner.Err(), err)
}

// A turn is a text with what its index text is made of.
type turn struct {
	Text
	node memory.Node
}

// turns gives the texts as memories, in the order of their scopes and sessions.
func (f *Folder) turns() []turn {
	turns := make([]turn, 0, len(f.Texts))
	before := map[place]string{}
	order := map[place]int64{}
	for _, text := range f.Texts {
		p := place{text.Scope, text.Session}
		order[p]++
		n := memory.Node{
			ID: idOf(text.ID), Tenant: tenant, User: host.UserID(text.Scope), Text: text.Text, At: f.dates[p],
			Layer: memory.Declared, Kind: memory.FactOf, Status: memory.Active, Source: memory.Source{Order: order[p]},
		}
		if len(f.dates) > 0 {
			n.Source.Session = host.SessionID(fmt.Sprint(text.Scope, "/", text.Session))
			words := text.Text
			n.Source.Speaker, words = speaker(text.Text)
			n.IndexText = memory.TurnText(before[p], n.Source.Speaker, n.At, words)
			before[p] = words
		}
		turns = append(turns, turn{text, n})
	}
	return turns
}

func idOf(id int) memory.ID { return memory.ID(fmt.Sprintf("%012d", id)) }

// speaker cuts the speaker off a turn.
func speaker(text string) (name, words string) {
	const longestName = 32
	name, words, ok := strings.Cut(text, ": ")
	if !ok || len(name) > longestName {
		return "", text
	}
	return name, words
}
