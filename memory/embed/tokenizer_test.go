package embed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pieces gives what a tokenizer of these steps cuts a text into, before its model.
func pieces(t *testing.T, normalizer, preTokenizer, text string) []string {
	t.Helper()
	var change, split *step
	for text, into := range map[string]**step{normalizer: &change, preTokenizer: &split} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	changing, err := changes(nil, change, 0)
	if err != nil {
		t.Fatal(err)
	}
	splitting, err := splits(nil, split, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range changing {
		text = f(text)
	}
	parts := []string{text}
	for _, f := range splitting {
		parts = f(parts)
	}
	return parts
}

func TestTextsAreNormalisedAsTheFileSays(t *testing.T) {
	bert := func(accents, lower string) string {
		return fmt.Sprintf(`{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":%s,"lowercase":%s}`, accents, lower)
	}
	for name, tt := range map[string]struct{ normalizer, text, want string }{
		"BERT":                    {bert("null", "true"), "Ünï\u200b\x01\tCASE 直播!", "uni case  直  播 !"},
		"BERT, cased":             {bert("null", "false"), "Ünï", "Ünï"},
		"BERT, cased, no accents": {bert("true", "false"), "Ünï", "Uni"},
		"BERT, accents":           {bert("false", "true"), "Ünï", "ünï"},
		"NFKC":                    {`{"type":"NFKC"}`, "Ａ①ﬁ", "A1fi"},
		"NFD, marks off, lower":   {`{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]}`, "É", "e"},
		"a text for a text":       {`{"type":"Replace","pattern":{"String":"!"},"content":" ! "}`, "a!b!", "a ! b ! "},
		"a text for a pattern":    {`{"type":"Replace","pattern":{"Regex":"\\s+"},"content":"$1 "}`, "a\u3000\t\u00a0b", "a$1 b"},
		"stripped":                {`{"type":"Strip","strip_left":false,"strip_right":true}`, " a ", " a"},
		"prepended":               {`{"type":"Prepend","prepend":"▁"}`, "a", "▁a"},
		"charsmap":                {`{"type":"Precompiled","precompiled_charsmap":"` + darts("Ａ", "A") + `"}`, "ＡbＡＢ", "AbAＢ"},
		"charsmap, a mark":        {`{"type":"Precompiled","precompiled_charsmap":"` + darts("e\u0301", "é") + `"}`, "cafe\u0301 e", "café e"},
		"nothing":                 {"", "A", "A"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pieces(t, tt.normalizer, "", tt.text); got[0] != tt.want {
				t.Errorf("got %q, want %q", got[0], tt.want)
			}
		})
	}
}

func TestTextsAreSplitAsTheFileSays(t *testing.T) {
	for name, tt := range map[string]struct {
		step, text string
		want       []string
	}{
		"BERT":               {`{"type":"BertPreTokenizer"}`, "Hi, it's 3$ 《好》。", []string{"Hi", ",", "it", "'", "s", "3", "$", "《", "好", "》", "。"}},
		"spaces":             {`{"type":"WhitespaceSplit"}`, " a,b  c ", []string{"a,b", "c"}},
		"visible spaces":     {`{"type":"Metaspace","replacement":"▁","add_prefix_space":true}`, "Hey   friend!", []string{"▁Hey", "▁", "▁", "▁friend!"}},
		"not at the front":   {`{"type":"Metaspace","replacement":"▁","prepend_scheme":"never"}`, "Hey friend", []string{"Hey", "▁friend"}},
		"whole":              {`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}`, "Hey friend", []string{"▁Hey▁friend"}},
		"one after another":  {`{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"}]}`, "a b", []string{"▁a", "▁b"}},
		"only at the first":  {`{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]}`, "a b", []string{"▁a", "b"}},
		"bytes":              {`{"type":"ByteLevel","add_prefix_space":false}`, "Hi there's 2!!  价\n", []string{"Hi", "Ġthere", "'s", "Ġ2", "!!", "Ġ", "Ġä»·", "Ċ"}},
		"bytes, whole":       {`{"type":"ByteLevel","add_prefix_space":true,"use_regex":false}`, "a b", []string{"ĠaĠb"}},
		"bytes of spaces":    {`{"type":"ByteLevel","add_prefix_space":false}`, "a\t\tb  ", []string{"a", "ĉ", "ĉ", "b", "ĠĠ"}},
		"a mark in the text": {`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"}`, "▁a▁b", []string{"▁a", "▁b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pieces(t, "", tt.step, tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStepsWithoutEndAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"type":"Sequence","normalizers":[`, depthMax+2) + strings.Repeat(`]}`, depthMax+2)
	wide := `{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"NFC"},`, stepsMax+1) + `{"type":"NFC"}]}`
	for name, text := range map[string]string{
		"deep": deep, "wide": wide, "a long replacement": `{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", patternBytes+1) + `"}`,
		"no pattern": `{"type":"Replace","content":"a"}`, "a broken pattern": `{"type":"Replace","pattern":{"Regex":"("},"content":"a"}`,
		"a charsmap of nothing": `{"type":"Precompiled","precompiled_charsmap":""}`, "a charsmap that is cut": `{"type":"Precompiled","precompiled_charsmap":"/////w=="}`,
	} {
		var s step
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if _, err := changes(nil, &s, 0); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestATextThatStepsBlowUpIsCut replaces one letter by many, again and again.
func TestATextThatStepsBlowUpIsCut(t *testing.T) {
	grow := `{"type":"Replace","pattern":{"String":"live"},"content":"` + strings.Repeat("live ", 50) + `"}`
	file := strings.Replace(bertFile, `{"type": "BertNormalizer"`, `{"type":"Sequence","normalizers":[`+strings.Repeat(grow+",", 9)+`{"type":"NFC"}]}, "old": {"type": "BertNormalizer"`, 1)
	tok, err := parseTokenizer([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if ids := tok.tokens("live", tokensMax); len(ids) != tokensMax {
		t.Errorf("got %d tokens", len(ids))
	}
}

func TestWordPieceTakesTheLongestPieces(t *testing.T) {
	tok, err := parseTokenizer([]byte(`{"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##","max_input_chars_per_word":8,
		"vocab":{"?":0,"un":1,"unaff":2,"##aff":3,"##able":4,"##a":5,"##价":6}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int32{
		"unaffable": nil, // too long a word
		"unaffa":    {2, 5},
		"unable":    {1, 4},
		"un价":       {1, 6},
		"unx un":    {1}, // a word without a cut is unknown as a whole
		"able":      nil, // the piece is not one of a beginning
	} {
		if got := tok.tokens(text, 10); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestUnigramTakesTheLikeliestTokens(t *testing.T) {
	const vocabulary = `[["<unk>",0],["a",0],["b",0],["c",0],["d",0],["cd",1],["ab",2],["abc",5],["abcd",10],["价格",-1],["价",-2]`
	for name, tt := range map[string]struct {
		vocabulary, fallback, text string
		want                       []int32
	}{
		"the likeliest":         {vocabulary + "]", "false", "abcdacd", []int32{8, 1, 5}},
		"unknown ones are out":  {vocabulary + "]", "false", "axxb格价格", []int32{1, 2, 9}},
		"cheap alternatives":    {`[["<unk>",0],["a",-1],["aa",-3]]`, "false", "aaa", []int32{1, 1, 1}},
		"bytes of unknown ones": {vocabulary + "," + byteRows() + "]", "true", "aé", []int32{1, 11 + 0xc3, 11 + 0xa9}},
		"not all bytes":         {vocabulary + `,["<0xC3>",-9]]`, "true", "aé", []int32{1}},
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := parseTokenizer([]byte(`{"model":{"type":"Unigram","unk_id":0,"byte_fallback":` + tt.fallback + `,"vocab":` + tt.vocabulary + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.tokens(tt.text, 100); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func byteRows() string {
	var all []string
	for b := range 256 {
		all = append(all, fmt.Sprintf(`["<0x%02X>",-20]`, b))
	}
	return strings.Join(all, ",")
}

func TestBPEJoinsInTheOrderInWhichItLearned(t *testing.T) {
	const vocabulary = `"vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4,"abc":5,"aa":6,"é":7,"?":8`
	for name, tt := range map[string]struct {
		model, text string
		want        []int32
	}{
		"the earliest pair first":  {vocabulary + `},"merges":["b c","a b","a bc"]`, "abc", []int32{5}},
		"and not the leftmost":     {vocabulary + `},"merges":["b c","a b"]`, "abc", []int32{0, 4}},
		"of the same the leftmost": {vocabulary + `},"merges":[["a","a"]]`, "aaaaa", []int32{6, 6, 0}},
		"a pair that is gone":      {vocabulary + `},"merges":["a b","b c"]`, "abcbc", []int32{3, 2, 4}},
		"none":                     {vocabulary + `},"merges":[]`, "ab", []int32{0, 1}},
		"unknown ones vanish":      {vocabulary + `},"merges":["a b"]`, "axb", []int32{3}},
		"unknown ones part":        {vocabulary + `},"merges":["a b"],"unk_token":"?"`, "axb", []int32{0, 1}},
		"a whole token stays":      {vocabulary + `},"merges":["a b"],"ignore_merges":true`, "abc", []int32{5}},
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := parseTokenizer([]byte(`{"model":{"type":"BPE",` + tt.model + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.tokens(tt.text, 100); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	for name, model := range map[string]string{
		"a merge of nothing": vocabulary + `},"merges":["a z"]`, "one word": vocabulary + `},"merges":["ab"]`, "a number": vocabulary + `},"merges":[1]`,
		"a result that is none": vocabulary + `},"merges":["b a"]`, "a suffix": vocabulary + `},"merges":[],"end_of_word_suffix":"</w>"`, "no such unk": vocabulary + `},"merges":[],"unk_token":"u"`,
	} {
		if _, err := parseTokenizer([]byte(`{"model":{"type":"BPE",` + model + `}}`)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestBPEIsQuickOnALongPart cuts a text of one part, longer than any memory.
func TestBPEIsQuickOnALongPart(t *testing.T) {
	tok, err := parseTokenizer([]byte(`{"model":{"type":"BPE","vocab":{"a":0,"aa":1,"aaaa":2,"aaaaaaaa":3},"merges":["a a","aa aa","aaaa aaaa"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if ids := tok.cut(nil, strings.Repeat("a", 1<<16)); len(ids) != 1<<13 || slices.ContainsFunc(ids, func(id int32) bool { return id != 3 }) {
		t.Errorf("got %d tokens", len(ids))
	}
}

const unigramFile = `{"added_tokens":[{"id":0,"content":"<unk>","special":true}],
	"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},
	"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
	"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["<unk>",0],["▁live",-3],["▁",-2],["li",-4],["价格",-5]]}}`

func FuzzTokenizer(f *testing.F) {
	f.Add([]byte(bertFile), "Lively prices 价格.")
	f.Add([]byte(unigramFile), "live 价格  x")
	f.Add([]byte(`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"`+darts("Ａ", "A")+`"},"model":{"type":"Unigram","unk_id":0,"vocab":[["",0],["A",-1]]}}`), "ＡＢ")
	f.Add([]byte(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"Ġa":4},"merges":["a b",["Ġ","a"]]}}`), "ab a 价")
	f.Add([]byte(`{"model":{"type":"WordPiece","unk_token":"","vocab":{"":0}}}`), "a")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := parseTokenizer(file)
		if err != nil {
			return
		}
		ids := tok.tokens(text, 64)
		if len(ids) > 64 {
			t.Fatalf("got %d tokens", len(ids))
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tok.size || id == tok.unk {
				t.Fatalf("got the token %d of %d", id, tok.size)
			}
		}
	})
}
