package embed

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// charsmapMax bounds a charsmap; SentencePiece's of NFKC has 300 KiB.
const charsmapMax = 8 << 20

// clusterBytes is the size from which a character with its marks is only looked up in
// parts, as SentencePiece's readers do.
const clusterBytes = 6

// A charsmap is SentencePiece's table of what replaces characters: a trie in the form
// of Darts (a double array), whose values are places in a list of texts that end
// with NUL.
type charsmap struct {
	trie  []uint32
	texts []byte
}

// precompiled reads a charsmap: the length of the trie in bytes, the trie, the texts.
func precompiled(data []byte) (func(string) string, error) {
	if len(data) < 4 || len(data) > charsmapMax {
		return nil, errors.New("a charsmap that is empty or very long")
	}
	n := int(binary.LittleEndian.Uint32(data))
	if n == 0 || n%4 != 0 || n > len(data)-4 {
		return nil, errors.New("a charsmap whose trie is longer than it")
	}
	c := &charsmap{texts: data[4+n:]}
	for i := 4; i < 4+n; i += 4 {
		c.trie = append(c.trie, binary.LittleEndian.Uint32(data[i:]))
	}
	return c.change, nil
}

// change replaces a character with its marks, or each of them by itself.
func (c *charsmap) change(text string) string {
	var b strings.Builder
	for text != "" {
		n := cluster(text)
		b.WriteString(c.replace(text[:n]))
		text = text[n:]
	}
	return b.String()
}

func (c *charsmap) replace(cluster string) string {
	if len(cluster) < clusterBytes {
		if by, ok := c.find(cluster); ok {
			return by
		}
	}
	var b strings.Builder
	for _, r := range cluster {
		if by, ok := c.find(string(r)); ok {
			b.WriteString(by)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cluster gives the bytes of the first character and its marks.
func cluster(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if !unicode.Is(unicode.M, r) && r != '\u200d' {
			break
		}
		n += size
	}
	return n
}

// find gives what replaces the shortest beginning of a text that is in the trie. The
// whole text is replaced by it, as SentencePiece's readers do.
func (c *charsmap) find(text string) (string, bool) {
	at := offset(c.trie[0])
	for i := range len(text) {
		at ^= uint32(text[i])
		if text[i] == 0 || int(at) >= len(c.trie) {
			return "", false
		}
		unit := c.trie[at]
		if unit&(1<<31|0xff) != uint32(text[i]) {
			return "", false
		}
		at ^= offset(unit)
		if unit>>8&1 == 1 {
			return c.text(at)
		}
	}
	return "", false
}

// text gives the text that a leaf points to.
func (c *charsmap) text(leaf uint32) (string, bool) {
	if int(leaf) >= len(c.trie) {
		return "", false
	}
	from := int(c.trie[leaf] &^ (1 << 31))
	if from >= len(c.texts) {
		return "", false
	}
	text, _, _ := strings.Cut(string(c.texts[from:min(len(c.texts), from+patternBytes)]), "\x00")
	return text, utf8.ValidString(text)
}

// offset is where a unit's children are, relative to it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
