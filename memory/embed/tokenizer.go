package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a tokenizer.
const (
	vocabularyMax = 2 << 20 // tokens; those of many languages have half a million
	tokenBytesMax = 512     // of one token: a phrase of several words
	stepsMax      = 256     // that change or split a text: one for each mark of ASCII, and more
	depthMax      = 4       // of steps inside of steps
)

// A tokenizer cuts texts into the tokens of a model.
type tokenizer struct {
	change []func(string) string
	split  []func([]string) []string
	cut    func(ids []int32, part string) []int32
	unk    int32 // is left out; -1 where there is none
	size   int   // ids are below it
}

// A step is one thing that tokenizer.json does with a text. The fields are those of
// all types of steps.
type step struct {
	Type string `json:"type"`

	Normalizers   []step `json:"normalizers"`
	Pretokenizers []step `json:"pretokenizers"`

	CleanText     bool  `json:"clean_text"`
	ChineseChars  bool  `json:"handle_chinese_chars"`
	StripAccents  *bool `json:"strip_accents"`
	Lowercase     bool  `json:"lowercase"`
	StripLeft     bool  `json:"strip_left"`
	StripRight    bool  `json:"strip_right"`
	Pattern       pattern
	Content       string `json:"content"`
	Prepend       string `json:"prepend"`
	Charsmap      []byte `json:"precompiled_charsmap"`
	Replacement   string `json:"replacement"`
	PrependScheme string `json:"prepend_scheme"`
	AddPrefix     *bool  `json:"add_prefix_space"`
	Split         *bool  `json:"split"`
	UseRegex      *bool  `json:"use_regex"`
}

type pattern struct{ String, Regex string }

// parseTokenizer reads tokenizer.json. Steps that are not known are an error: without
// them a text would have other tokens, and nobody would see it.
func parseTokenizer(file []byte) (*tokenizer, error) {
	var said struct {
		Added []struct {
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Normalizer   *step           `json:"normalizer"`
		PreTokenizer *step           `json:"pre_tokenizer"`
		Model        json.RawMessage `json:"model"`
	}
	if err := json.Unmarshal(file, &said); err != nil {
		return nil, err
	}
	for _, added := range said.Added {
		if !added.Special && !isMark(added.Content) {
			return nil, fmt.Errorf("the token %q, which is found before the text is split, is not supported", short(added.Content))
		}
	}
	t := &tokenizer{unk: -1}
	var err error
	if t.change, err = changes(nil, said.Normalizer, 0); err != nil {
		return nil, err
	}
	if t.split, err = splits(nil, said.PreTokenizer, 0); err != nil {
		return nil, err
	}
	if err := t.readModel(said.Model); err != nil {
		return nil, err
	}
	return t, nil
}

// isMark reports whether a token is a mark of models that no text means: [CLS], <s>.
func isMark(token string) bool {
	return strings.HasPrefix(token, "[") && strings.HasSuffix(token, "]") || strings.HasPrefix(token, "<") && strings.HasSuffix(token, ">")
}

// readModel reads how parts are cut into tokens.
func (t *tokenizer) readModel(text json.RawMessage) error {
	var said struct {
		Type         string          `json:"type"`
		Vocabulary   json.RawMessage `json:"vocab"`
		Unknown      *string         `json:"unk_token"`
		UnknownID    *int32          `json:"unk_id"`
		Prefix       string          `json:"continuing_subword_prefix"`
		WordRunes    int             `json:"max_input_chars_per_word"`
		ByteFallback bool            `json:"byte_fallback"`
	}
	if len(text) == 0 {
		return errors.New("no model")
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return err
	}
	switch said.Type {
	case "WordPiece":
		return t.readWordPiece(said.Vocabulary, said.Unknown, said.Prefix, said.WordRunes)
	case "Unigram":
		return t.readUnigram(said.Vocabulary, said.UnknownID, said.ByteFallback)
	case "BPE":
		return t.readBPE(text)
	}
	return fmt.Errorf("the model %q is not supported; WordPiece, Unigram and BPE are", short(said.Type))
}

// tokens gives the ids of the known tokens of a text, most at most.
func (t *tokenizer) tokens(text string, most int) []int32 {
	text = strings.ToValidUTF8(text, "\ufffd")
	for _, change := range t.change {
		text = bounded(change(text))
	}
	if text == "" {
		return nil
	}
	parts := []string{text}
	for _, split := range t.split {
		parts = split(parts)
	}
	var ids, cut []int32
	for _, part := range parts {
		if cut = cut[:0]; part != "" {
			cut = t.cut(cut, part)
		}
		for _, id := range cut {
			if id != t.unk {
				ids = append(ids, id)
			}
		}
		if len(ids) >= most {
			return ids[:most]
		}
	}
	return ids
}

// bounded cuts what a step made of a text where it is far more than tokens are taken of.
func bounded(text string) string {
	const most = 1 << 20
	if len(text) <= most {
		return text
	}
	n := most
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// splits adds what a step of splitting does, and those inside of it.
func splits(all []func([]string) []string, s *step, depth int) ([]func([]string) []string, error) {
	if s == nil {
		return all, nil
	}
	if depth > depthMax || len(all) >= stepsMax {
		return nil, errors.New("too many steps of splitting")
	}
	switch s.Type {
	case "Sequence":
		var err error
		for i := range s.Pretokenizers {
			if all, err = splits(all, &s.Pretokenizers[i], depth+1); err != nil {
				return nil, err
			}
		}
		return all, nil
	case "BertPreTokenizer":
		return append(all, splitBert), nil
	case "WhitespaceSplit":
		return append(all, splitSpaces), nil
	case "ByteLevel":
		return append(all, byteLevel(s)), nil
	case "Metaspace":
		split, err := metaspace(s)
		return append(all, split), err
	}
	return nil, fmt.Errorf("the pre_tokenizer %q is not supported; BertPreTokenizer, WhitespaceSplit, Metaspace, ByteLevel and Sequence are", short(s.Type))
}

func splitSpaces(parts []string) (all []string) {
	for _, part := range parts {
		all = append(all, strings.Fields(part)...)
	}
	return all
}

// splitBert splits at spaces, and makes each mark a part of its own.
func splitBert(parts []string) (all []string) {
	for _, part := range parts {
		for _, word := range strings.Fields(part) {
			from := 0
			for i, r := range word {
				if isPunctuation(r) {
					if from < i {
						all = append(all, word[from:i])
					}
					from = i + utf8.RuneLen(r)
					all = append(all, word[i:from])
				}
			}
			if from < len(word) {
				all = append(all, word[from:])
			}
		}
	}
	return all
}

// isPunctuation goes by BERT: everything in ASCII that is no letter, digit, space or
// control is a mark.
func isPunctuation(r rune) bool {
	if r < 0x80 {
		return r > ' ' && r < 0x7f && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	return unicode.IsPunct(r)
}

// metaspace makes spaces visible, and splits before them.
func metaspace(s *step) (func([]string) []string, error) {
	mark := s.Replacement
	if utf8.RuneCountInString(mark) != 1 {
		return nil, fmt.Errorf("Metaspace with the replacement %q", short(mark))
	}
	always, first := s.PrependScheme == "always", s.PrependScheme == "first"
	if s.PrependScheme == "" { // as older files have it
		always = s.AddPrefix == nil || *s.AddPrefix
	}
	whole := s.Split != nil && !*s.Split
	return func(parts []string) (all []string) {
		for i, part := range parts {
			part = strings.ReplaceAll(part, " ", mark)
			if (always || first && i == 0) && !strings.HasPrefix(part, mark) {
				part = mark + part
			}
			if whole {
				all = append(all, part)
			} else {
				all = splitBefore(all, part, mark)
			}
		}
		return all
	}, nil
}

// splitBefore adds the parts of a text that each begin with the mark, but perhaps the
// first.
func splitBefore(all []string, text, mark string) []string {
	for {
		from := 0
		if strings.HasPrefix(text, mark) {
			from = len(mark)
		}
		i := strings.Index(text[from:], mark)
		if i < 0 {
			return append(all, text)
		}
		all = append(all, text[:from+i])
		text = text[from+i:]
	}
}
