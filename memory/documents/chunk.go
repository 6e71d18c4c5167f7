package documents

import (
	"io"
	"iter"
	"unicode"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Lengths of chunks, in runes.
const (
	ChunkRunes   = 512 // a page's paragraph; about what small models of vectors read whole
	OverlapRunes = 100 // of the piece before: a sentence or two, so that what a cut parts is found from both sides
	LeastRunes   = 100 // a shorter piece says too little to be found by
)

// A Form says how a document is written.
type Form string

// The forms.
const (
	Plain    Form = "plain"
	Markdown Form = "markdown"
)

// A Chunk is one piece of a document with the end of the piece before it. At most
// ChunkRunes long.
type Chunk struct {
	Overlap  string   // from the piece before; at most OverlapRunes, and "" at the beginning of a section or a parent
	Own      string   // the piece: those of all chunks together are the document
	Start    int64    // of Own, in bytes of the source
	Headings []string // above it, outermost first, each cut off at 120 runes
	Parent   int      // which part of the document it is from, from 1
}

// Text gives the chunk's text with the overlap.
func (c Chunk) Text() string { return c.Overlap + c.Own }

// A piece is what becomes a chunk when it is known that nothing more comes to it.
type piece struct {
	overlap  []rune
	own      []rune
	headings []string
	first    bool // of its section
}

func (p *piece) room() int   { return ChunkRunes - len(p.overlap) - len(p.own) }
func (p *piece) short() bool { return len(p.own) < LeastRunes }

// A Splitter cuts one document. It is read once, by one goroutine.
type Splitter struct {
	from    *source
	cut     *segmenter
	doc     Document
	held    *piece   // whole, but what is short may still come to it
	filling *piece   // of the paragraph that is read
	spare   *piece   // was given; its room is used again
	section []string // headings of the section that is read
	at      int64    // bytes of the source in chunks
	parents parents
	err     error // ends every later iteration
}

// Chunks gives the chunks in order, and ends after the first error, which is of
// host.Fail. What was given before an error is no whole document. A caller that
// stops early cannot go on.
func (s *Splitter) Chunks() iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if s.err != nil {
			yield(Chunk{}, s.err)
			return
		}
		s.err = readAlready()
		if err := s.run(func(c Chunk) bool { return yield(c, nil) }); err != nil {
			s.err = err
			yield(Chunk{}, err)
		}
	}
}

// readAlready ends a second iteration over one reader.
func readAlready() error {
	return host.Fail("documents.Chunks", abi.NewProblem(abi.HostBug, "the document was read already").
		WithHint("open it again and make another Splitter"), nil)
}

// run reads the document, and gives each chunk to emit until that wants no more.
func (s *Splitter) run(emit func(Chunk) bool) error {
	if err := s.from.begin(); err != nil {
		return err
	}
	s.at = s.from.at
	s.parents.begin(s.at)
	for {
		next, err := s.cut.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !s.add(next, emit) {
			return nil
		}
	}
	if s.settle(emit) && s.emitHeld(emit) {
		s.parents.end(s.at)
	}
	return nil
}

// add puts a segment into the piece that is filled.
func (s *Splitter) add(next segment, emit func(Chunk) bool) bool {
	if next.headings != nil {
		if !s.settle(emit) || !s.emitHeld(emit) {
			return false
		}
		s.section = next.headings
	}
	if s.filling != nil && len(next.runes) > s.filling.room() && !s.settle(emit) {
		return false
	}
	if s.filling == nil {
		s.filling = s.begin()
	}
	s.filling.own = append(s.filling.own, next.runes...)
	return !next.last || s.settle(emit)
}

// begin begins a piece behind the one that is held.
func (s *Splitter) begin() *piece {
	p := s.spare
	if s.spare = nil; p == nil {
		p = &piece{}
	}
	*p = piece{overlap: p.overlap[:0], own: p.own[:0], headings: s.section, first: s.held == nil}
	if s.held != nil {
		p.overlap = append(p.overlap, tail(s.held.own)...)
	}
	return p
}

// settle ends the piece that is filled. What is short goes to the piece before, and a
// short first one takes what follows. Else the one before becomes a chunk.
func (s *Splitter) settle(emit func(Chunk) bool) bool {
	done := s.filling
	s.filling = nil
	if done == nil {
		return true
	}
	if s.held != nil && len(done.own) <= s.held.room() && (done.short() || s.held.first && s.held.short()) {
		s.held.own = append(s.held.own, done.own...)
		s.spare = done
		return true
	}
	ok := s.emitHeld(emit)
	s.held = done
	return ok
}

// emitHeld makes a chunk of the piece that is held.
func (s *Splitter) emitHeld(emit func(Chunk) bool) bool {
	if s.held == nil {
		return true
	}
	done := s.held
	s.held, s.spare = nil, done
	own := string(done.own)
	parent, fresh := s.parents.add(s.at, own)
	c := Chunk{Overlap: string(done.overlap), Own: own, Start: s.at, Headings: done.headings, Parent: parent}
	if fresh {
		c.Overlap = "" // it would be from another parent
	}
	s.at += int64(len(own))
	return emit(c)
}

// tail is the end of a piece that the next one begins with. It begins with a word,
// and no part of one or of what a reader sees as one character.
func tail(own []rune) []rune {
	from := max(0, len(own)-OverlapRunes)
	for from > 0 && from < len(own) && (joins(own[from-1], own[from]) || inWord(own[from-1], own[from]) || trails(own[from])) {
		from++
	}
	return own[from:]
}

// trails reports whether a rune belongs to what is before it: a space, a comma.
func trails(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsPunct(r) && !unicode.In(r, unicode.Ps, unicode.Pi)
}

// inWord reports whether two neighbours are of one word of a script with spaces.
func inWord(a, b rune) bool { return isLetter(a) && isLetter(b) }

func isLetter(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
