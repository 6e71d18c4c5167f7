package documents

import (
	"io"
	"unicode"
)

// segmentRunes bounds a segment: with the overlap it is a chunk.
const segmentRunes = ChunkRunes - OverlapRunes

// A segment is a sentence, or what there is of one, with the space behind it.
type segment struct {
	runes    []rune
	last     bool     // of its paragraph
	headings []string // of the section that it begins; nil where it begins none
}

// A segmenter cuts a document into segments. It holds one, and the rune that showed
// where it ends.
type segmenter struct {
	from     *source
	markdown *markdown // nil for plain text
	runes    []rune    // read, and not yet given
	given    []rune    // of the segment that was given last
	end      ending
	headings []string // of the section that runes begins
	atLine   bool     // the next rune is the first of its line
	done     bool
}

func newSegmenter(from *source, form Form) *segmenter {
	s := &segmenter{from: from, atLine: true, runes: make([]rune, 0, segmentRunes+1)}
	if form == Markdown {
		s.markdown = &markdown{}
	}
	return s
}

// next gives the next segment, or io.EOF. Its runes are good until the next call.
func (s *segmenter) next() (segment, error) {
	for !s.done {
		if begun, ok := s.section(); ok {
			return begun, nil
		}
		r, err := s.from.next()
		if err == io.EOF {
			s.done = true
			break
		}
		if err != nil {
			return segment{}, err
		}
		s.atLine = r == '\n'
		if cut, ok := s.take(r); ok {
			return cut, nil
		}
	}
	if len(s.runes) == 0 {
		return segment{}, io.EOF
	}
	return s.give(len(s.runes), true), nil
}

// section looks at a line before it is read. Where it is a heading, what was read
// until now is given, and the line begins a section.
func (s *segmenter) section() (segment, bool) {
	if s.markdown == nil || !s.atLine {
		return segment{}, false
	}
	s.atLine = false
	if !s.markdown.heading(s.from.line()) {
		return segment{}, false
	}
	var before segment
	begun := len(s.runes) > 0
	if begun {
		before = s.give(len(s.runes), true)
	}
	s.headings, s.end = s.markdown.path, ending{}
	return before, begun
}

// take adds a rune, and cuts a segment off where the rune shows that one ended, or
// where it is too many.
func (s *segmenter) take(r rune) (cut segment, ok bool) {
	if s.end.before(r) {
		cut, ok = s.give(len(s.runes), s.end.blank()), true
		s.end = ending{}
	}
	s.runes = append(s.runes, r)
	s.end.add(r)
	if len(s.runes) > segmentRunes {
		return s.give(cutAt(s.runes, segmentRunes), false), true
	}
	return cut, ok
}

// give takes n runes off as a segment.
func (s *segmenter) give(n int, last bool) segment {
	s.given = append(s.given[:0], s.runes[:n]...)
	s.runes = append(s.runes[:0], s.runes[n:]...)
	cut := segment{runes: s.given, last: last, headings: s.headings}
	s.headings = nil
	return cut
}

// An ending knows whether a sentence is over.
type ending struct {
	full   bool // 。 and its like were seen, which need no space behind them
	point  bool // . ! or ? were seen, which do
	spaced bool // and a space behind
	lines  int  // line ends since the last rune that is no space
}

// before reports whether the sentence ended before r.
func (e *ending) before(r rune) bool {
	ended := e.lines >= 2 || e.full || e.point && e.spaced
	if !ended || unicode.IsSpace(r) {
		return false
	}
	return e.spaced || !isCloser(r) && !isFull(r) && !isPoint(r)
}

// blank reports whether a blank line stands behind the sentence.
func (e *ending) blank() bool { return e.lines >= 2 }

func (e *ending) add(r rune) {
	switch {
	case r == '\n':
		e.lines++
		e.spaced = true
	case unicode.IsSpace(r):
		e.spaced = true
	case isFull(r):
		*e = ending{full: true}
	case isPoint(r):
		*e = ending{point: true, full: e.full}
	case (e.full || e.point) && !e.spaced && isCloser(r): // as before
	default:
		*e = ending{}
	}
}

func isFull(r rune) bool  { return r == '。' || r == '！' || r == '？' || r == '；' }
func isPoint(r rune) bool { return r == '.' || r == '!' || r == '?' }

// isCloser reports whether r, behind the end of a sentence, still belongs to it.
func isCloser(r rune) bool {
	return r == '"' || r == '\'' || unicode.In(r, unicode.Pe, unicode.Pf)
}

// cutAt says where a text that is longer than most is cut: behind a line end, else a
// comma or a space, of its second half; else between two characters.
func cutAt(text []rune, most int) int {
	half := most / 2
	for _, fits := range []func(rune) bool{isLineEnd, isPause} {
		for i := most; i > half; i-- {
			if fits(text[i-1]) && !joins(text[i-1], text[i]) && !unicode.IsSpace(text[i]) {
				return i
			}
		}
	}
	for i := most; i > half; i-- {
		if !joins(text[i-1], text[i]) {
			return i
		}
	}
	return most // hundreds of marks on one character
}

func isLineEnd(r rune) bool { return r == '\n' }

func isPause(r rune) bool {
	switch r {
	case '，', '、', '：':
		return true
	}
	return unicode.IsSpace(r)
}

// joins reports whether a reader sees two neighbours as one character: a letter and
// its marks, the parts of an emoji, of a flag, of a Hangul syllable, a line end of two.
// Of several flags in a row it joins all, which cuts nothing apart.
func joins(a, b rune) bool {
	const joiner = '\u200d'
	switch {
	case a == '\r' && b == '\n', a == joiner, b == joiner:
		return true
	case unicode.Is(unicode.M, b), b >= 0x1f3fb && b <= 0x1f3ff, b >= 0xe0020 && b <= 0xe007f:
		return true // marks and variation selectors, tones of skin, tags
	case isFlag(a) && isFlag(b):
		return true
	}
	return isJamo(a) && isJamo(b)
}

func isFlag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
func isJamo(r rune) bool { return r >= 0x1100 && r <= 0x11ff }
