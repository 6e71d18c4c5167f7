package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// wordRunesDefault is how long a word may be in BERT; a longer one is unknown.
const wordRunesDefault = 100

// A wordPiece cuts a word into the longest tokens that it begins with, one after
// another. Where there is none, the whole word is unknown.
type wordPiece struct {
	begin, inner map[string]int32 // of a word; inner without its prefix
	longest      int              // token, in bytes
	wordRunes    int
	unk          int32
}

func (t *tokenizer) readWordPiece(vocabulary json.RawMessage, unknown *string, prefix string, wordRunes int) error {
	var ids map[string]int32
	if err := json.Unmarshal(vocabulary, &ids); err != nil {
		return fmt.Errorf("its vocabulary: %w", err)
	}
	if unknown == nil || len(ids) > vocabularyMax {
		return fmt.Errorf("WordPiece with %d tokens, and perhaps no unk_token", len(ids))
	}
	unk, ok := ids[*unknown]
	if !ok {
		return errors.New("the unk_token is not in the vocabulary")
	}
	if wordRunes <= 0 || wordRunes > wordRunesDefault {
		wordRunes = wordRunesDefault
	}
	w := &wordPiece{begin: ids, inner: map[string]int32{}, longest: 1, wordRunes: wordRunes, unk: unk}
	for token, id := range ids {
		if err := t.count(token, id); err != nil {
			return err
		}
		w.longest = max(w.longest, len(token))
		if prefix == "" || len(token) > len(prefix) && token[:len(prefix)] == prefix {
			w.inner[token[len(prefix):]] = id
		}
	}
	t.unk, t.cut = unk, w.cut
	return nil
}

// count takes a token into the size of the vocabulary.
func (t *tokenizer) count(token string, id int32) error {
	if id < 0 || id >= vocabularyMax || len(token) > tokenBytesMax {
		return fmt.Errorf("the token %q of %d bytes with the id %d", short(token), len(token), id)
	}
	t.size = max(t.size, int(id)+1)
	return nil
}

// cut adds the tokens of a word.
func (w *wordPiece) cut(ids []int32, word string) []int32 {
	if utf8.RuneCountInString(word) > w.wordRunes {
		return append(ids, w.unk)
	}
	known := len(ids)
	vocabulary := w.begin
	for from := 0; from < len(word); {
		to := min(len(word), from+w.longest)
		id, ok := vocabulary[word[from:to]]
		for !ok && to > from+1 {
			to--
			id, ok = vocabulary[word[from:to]]
		}
		if !ok {
			return append(ids[:known], w.unk)
		}
		ids = append(ids, id)
		from, vocabulary = to, w.inner
	}
	return ids
}
