package window

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of what a user's message brings with it.
const (
	mentionsMost  = 10       // files that one message may name
	mentionBytes  = 64 << 10 // of all of them together
	walkedMost    = 2000     // files that are looked at for a near name
	mentionPath   = 512      // bytes of a path
	nearestOffers = 3
)

// An Image is a picture that a message names. It is given by reference: the
// bytes stay where they are.
type Image struct {
	Path string `json:"path"`
	Type string `json:"type"` // media type, by the name
	Size int64  `json:"size"` // bytes
}

// Expanded is a user's message with what it names.
type Expanded struct {
	Text     string         // the message, and behind it each file that it names
	Images   []Image        // in the order of the message
	Problems []*abi.Problem // of paths that name nothing, with the nearest names
}

// A mention is @ and a path, at the beginning of a word: no address of mail.
// Chinese marks and words may stand before it, without a blank.
var mention = regexp.MustCompile(`(^|[\s("'“‘（【《，。；：、！？\p{Han}])@([^\s@"'“”‘’（）()【】《》，。；：、！？,;!?<>|*]+)`)

// Expand puts the files that a message names as @path behind it. Only plain
// files of the given tree are read, which is the session's own; a path that
// leads out of it, by .. or by a link, names nothing. The text of at most 10
// files and 64 KiB is put in, pictures by reference. A name that is neither a
// file nor looks like one is left as it is, without a problem.
func Expand(files fs.FS, text string) Expanded {
	e := expander{files: files, room: mentionBytes, seen: map[string]bool{}}
	for _, found := range mention.FindAllStringSubmatch(text, -1) {
		e.mention(strings.TrimRight(found[2], "."))
	}
	e.out.Text = text + e.added.String()
	return e.out
}

type expander struct {
	files fs.FS
	room  int
	seen  map[string]bool
	names []string // of all files, once they were needed
	added strings.Builder
	out   Expanded
}

func (e *expander) mention(name string) {
	name = strings.TrimPrefix(name, "./")
	if e.seen[name] || name == "" || len(name) > mentionPath {
		return
	}
	e.seen[name] = true
	if len(e.seen) > mentionsMost {
		if len(e.seen) == mentionsMost+1 {
			e.problem(abi.NewProblem(abi.InputLimit, "the message names more than %d files; the others are not read", mentionsMost))
		}
		return
	}
	var err error
	if kind := imageType(name); kind != "" {
		err = e.image(name, kind)
	} else {
		err = e.file(name)
	}
	if err != nil {
		e.missing(name, err)
	}
}

func (e *expander) image(name, kind string) error {
	if err := plain(e.files, name); err != nil {
		return err
	}
	info, err := fs.Stat(e.files, name)
	if err != nil {
		return err
	}
	e.out.Images = append(e.out.Images, Image{name, kind, info.Size()})
	fmt.Fprintf(&e.added, "\n\n[image %s: %s, %d bytes]", name, kind, info.Size())
	return nil
}

func (e *expander) file(name string) error {
	data, more, err := head(e.files, name, e.room)
	switch {
	case err != nil:
		return err
	case !utf8.Valid(data) || strings.ContainsRune(string(data), 0):
		fmt.Fprintf(&e.added, "\n\n[file %s is not text]", name)
		return nil
	}
	e.room -= len(data)
	fmt.Fprintf(&e.added, "\n\n[file %s]\n%s\n[end of %s]", name, strings.TrimSuffix(string(data), "\n"), name)
	if more {
		e.problem(abi.NewProblem(abi.InputLimit, "%s goes on after %d bytes; a message brings at most %d bytes of files with it", name, len(data), mentionBytes).
			WithField(name).WithHint("read it in parts"))
	}
	return nil
}

// missing tells that a path names no file that can be read.
func (e *expander) missing(name string, err error) {
	var problem *abi.Problem
	switch {
	case errors.Is(err, errPath) || errors.Is(err, errLink):
		problem = abi.NewProblem(abi.NotAllowed, "@%s cannot be read: %v", name, err).WithHint("name a file of this session")
	case errors.Is(err, fs.ErrNotExist):
		near := abi.Nearest(name, e.all(), nearestOffers)
		if len(near) == 0 && !strings.ContainsAny(name, "./") {
			return // somebody's name, not a file's
		}
		problem = abi.NewProblem(abi.NotFound, "there is no file %s in this session", name)
		if len(near) > 0 {
			problem = problem.WithCandidates(near...).WithHint("did you mean %s?", near[0])
		}
	default:
		problem = abi.NewProblem(abi.BadValue, "@%s cannot be read: %s", name, reason(err))
	}
	e.problem(problem.WithField(name))
}

func (e *expander) problem(p *abi.Problem) { e.out.Problems = append(e.out.Problems, p) }

// all gives the names of the files, the first walkedMost.
func (e *expander) all() []string {
	if e.names != nil {
		return e.names
	}
	e.names = []string{}
	walked := 0
	_ = fs.WalkDir(e.files, ".", func(name string, d fs.DirEntry, err error) error {
		if walked++; walked > walkedMost {
			return fs.SkipAll
		}
		if err != nil {
			return fs.SkipDir // what cannot be listed is not offered
		}
		if d.Type().IsRegular() {
			e.names = append(e.names, name)
		}
		return nil
	})
	return e.names
}

// imageType gives the media type of a picture's name, or nothing.
func imageType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	}
	return ""
}
