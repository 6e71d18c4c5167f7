package main

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/sdk"
)

// What is shown around a match, in bytes.
const (
	contextBefore = 80
	contextAfter  = 120
)

// matchFrame is what JSON takes around one match.
const matchFrame = 40

// A finder looks for a text in a blob that comes in pieces.
type finder struct {
	pieces
	text   []byte
	folded bool
	plain  []byte // what is at hand of the blob
	hay    []byte // the same, folded where it must be
	at     int64  // offset of plain[0]
	from   int    // index from which on it was not searched
}

func searchBlob(c sdk.Call, in Search) (Matches, error) {
	f := finder{text: []byte(in.Text), folded: in.IgnoreCase}
	if f.folded {
		fold(f.text)
	}
	if err := f.begin(c, in); err != nil {
		return Matches{}, err
	}
	out := Matches{Matches: []Match{}}
	for room := textRoom; ; {
		m, found, err := f.find()
		if err != nil {
			return Matches{}, err
		}
		if !found {
			out.Searched = f.next - in.From
			return out, nil
		}
		if room -= writtenText(m.Text) + matchFrame; len(out.Matches) == in.Max || room < 0 && len(out.Matches) > 0 {
			out.Next, out.Searched = m.Offset, m.Offset-in.From
			return out, nil
		}
		out.Matches = append(out.Matches, m)
	}
}

// begin reads the first piece, with what stands before the first place.
func (f *finder) begin(c sdk.Call, in Search) error {
	f.at = max(0, in.From-contextBefore)
	f.from = int(in.From - f.at)
	f.pieces = pieces{call: c, id: in.ID, next: f.at}
	err := f.more()
	if err == nil && f.from > len(f.plain) {
		_, err = sdk.BlobRead(c, in.ID, in.From, 1) // says where the end is
		err = explained(err)
	}
	return err
}

// find gives the next match, with what stands around it.
func (f *finder) find() (Match, bool, error) {
	for {
		i := bytes.Index(f.hay[f.from:], f.text)
		if i >= 0 {
			f.from += i
		}
		if i >= 0 && (f.end || f.from+len(f.text)+contextAfter <= len(f.plain)) {
			m := Match{Offset: f.at + int64(f.from), Text: f.context()}
			f.from += len(f.text)
			return m, true, nil
		}
		if f.end {
			return Match{}, false, nil
		}
		if i < 0 {
			f.from = max(f.from, len(f.hay)-len(f.text)+1) // it may begin here
		}
		if err := f.more(); err != nil {
			return Match{}, false, err
		}
	}
}

// more adds a piece, and drops what is not needed any more.
func (f *finder) more() error {
	piece, err := f.read()
	if err != nil {
		return err
	}
	drop := max(0, f.from-contextBefore)
	f.at, f.from = f.at+int64(drop), f.from-drop
	f.plain = append(f.plain[drop:len(f.plain):len(f.plain)], piece...)
	f.hay = f.plain
	if f.folded {
		f.hay = bytes.Clone(f.plain)
		fold(f.hay)
	}
	return nil
}

// context gives a match and what stands around it, in whole characters.
func (f *finder) context() string {
	from, to := max(0, f.from-contextBefore), min(len(f.plain), f.from+len(f.text)+contextAfter)
	for from < f.from && !utf8.RuneStart(f.plain[from]) {
		from++
	}
	for to > f.from+len(f.text) && to < len(f.plain) && !utf8.RuneStart(f.plain[to]) {
		to--
	}
	return strings.ToValidUTF8(string(f.plain[from:to]), "�")
}

// fold makes letters of ASCII small, in place.
func fold(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}
