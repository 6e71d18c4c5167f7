package embed

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A made is a tensor that a test writes.
type made struct {
	kind  string
	shape []int
	items []float64
}

// tensorsOf writes a file of tensors.
func tensorsOf(all map[string]made) []byte {
	header, data := map[string]any{"__metadata__": map[string]string{"by": "a test"}}, []byte{}
	for name, m := range all {
		begin := len(data)
		for _, v := range m.items {
			data = appendItem(data, m.kind, v)
		}
		header[name] = map[string]any{"dtype": m.kind, "shape": m.shape, "data_offsets": []int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), data...)
}

func appendItem(data []byte, kind string, v float64) []byte {
	switch kind {
	case "F64":
		return binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	case "F32":
		return binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	case "BF16":
		return binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(float32(v))>>16))
	case "F16": // of halves of small whole numbers
		fraction, exponent := math.Frexp(math.Abs(v))
		bits := uint16(0)
		if v != 0 {
			bits = uint16(exponent+14)<<10 | uint16(fraction*2048)&0x3ff
		}
		if v < 0 {
			bits |= 0x8000
		}
		return binary.LittleEndian.AppendUint16(data, bits)
	case "I8":
		return append(data, byte(int8(v)))
	case "I32":
		return binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
	}
	return binary.LittleEndian.AppendUint64(data, uint64(int64(v)))
}

const bertFile = `{
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [{"id": 0, "content": "[PAD]", "special": true}, {"id": 1, "content": "[UNK]", "special": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": null, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
    "vocab": {"[PAD]": 0, "[UNK]": 1, "live": 2, "##ly": 3, "price": 4, "##s": 5, "价": 6, "格": 7, ".": 8, "cafe": 9}}
}`

// bertMatrix has a row for each token of bertFile.
var bertMatrix = []float64{9, 9, 9, 9, 1, 0, 0, 1, 2, 0, 0, 0.5, 3, 4, -4, 3, 0, -1, 0.5, 0.5}

func writeFolder(t testing.TB, tokenizer string, tensors []byte) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string][]byte{"config.json": []byte(`{"model_type": "model2vec", "normalize": true}`), "tokenizer.json": []byte(tokenizer), "model.safetensors": tensors} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func openModel(t testing.TB, tokenizer string, tensors map[string]made) *Folder {
	t.Helper()
	f, err := OpenFolder(writeFolder(t, tokenizer, tensorsOf(tensors)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFolderGivesTheMeanOfItsTokensNormalised(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []float64 // before it is normalised; nil for none
	}{
		"one token":            {"live", []float64{1, 0}},
		"two":                  {"live prices", []float64{1 + 2 + 0, 0 + 0 + 0.5}},
		"parts of a word":      {"LIVELY", []float64{1, 1}},
		"Chinese":              {"价格", []float64{-1, 7}},
		"accents and marks":    {"Café.", []float64{0.5, -0.5}},
		"what is unknown":      {"live unheard 价", []float64{4, 4}},
		"only what is unknown": {"unheard", nil},
		"nothing":              {"", nil},
		"a mark of models":     {"[PAD] live", []float64{1, 0}},
		"each counts":          {"live live 价", []float64{5, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			f := openModel(t, bertFile, map[string]made{"embeddings": {"F32", []int{10, 2}, bertMatrix}})
			got, err := f.Embed(context.Background(), []string{tt.text})
			if err != nil {
				t.Fatal(err)
			}
			wantVector(t, got[0], tt.want)
		})
	}
}

func wantVector(t *testing.T, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want the direction of %v", got, want)
	}
	length := 0.0
	for _, x := range want {
		length += x * x
	}
	for i, x := range want {
		if math.Abs(float64(got[i])-x/math.Sqrt(length)) > 1e-6 {
			t.Fatalf("got %v, want the direction of %v", got, want)
		}
	}
}

func TestAFolderReadsAllPrecisions(t *testing.T) {
	for _, kind := range []string{"F64", "F32", "F16", "BF16"} {
		f := openModel(t, bertFile, map[string]made{"embeddings": {kind, []int{10, 2}, bertMatrix}})
		wantVector(t, f.vector("prices 价."), []float64{2 + 0 + 3 + 0, 0 + 0.5 + 4 - 1})
	}
	whole := []float64{9, 9, 9, 9, 1, 0, 0, 1, 2, 0, 0, 5, 3, 4, -4, 3, 0, -128, 127, 5}
	f := openModel(t, bertFile, map[string]made{"embedding.weight": {"I8", []int{10, 2}, whole}})
	wantVector(t, f.vector("价 ."), []float64{3, -124})
}

func TestWeightsAndMappingAreKept(t *testing.T) {
	f := openModel(t, bertFile, map[string]made{
		"embeddings": {"F32", []int{3, 2}, []float64{9, 9, 1, 0, 0, 1}},
		"mapping":    {"I64", []int{10}, []float64{0, 0, 1, 1, 2, 2, 1, 2, 0, 0}},
		"weights":    {"F32", []int{10}, []float64{1, 1, 0.5, 2, 3, 1, 1, 1, 0, 1}},
	})
	wantVector(t, f.vector("lively price"), []float64{0.5 + 2, 3})
	if got := f.vector("."); got != nil {
		t.Errorf("a token of no weight gives %v", got)
	}
}

func TestTokensAfterTheLastThatCountsAreLeftOut(t *testing.T) {
	f := openModel(t, bertFile, map[string]made{"embeddings": {"F32", []int{10, 2}, bertMatrix}})
	wantVector(t, f.vector(strings.Repeat("live ", tokensMax)+"价"), []float64{1, 0})
	wantVector(t, f.vector(strings.Repeat("unheard ", tokensMax)+"价"), []float64{3, 4})
}

func TestTheNameIsTheModelsAndNotTheFolders(t *testing.T) {
	tensors := map[string]made{"embeddings": {"F32", []int{10, 2}, bertMatrix}}
	one, same := openModel(t, bertFile, tensors), openModel(t, bertFile, tensors)
	other := openModel(t, strings.Replace(bertFile, `"lowercase": true`, `"lowercase": false`, 1), tensors)
	if one.Name() != same.Name() || one.Name() == other.Name() || one.Dimensions() != 2 {
		t.Errorf("the names are %s, %s and, of another, %s", one.Name(), same.Name(), other.Name())
	}
}

func TestAnEmbedThatIsStoppedGivesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := openModel(t, bertFile, map[string]made{"embeddings": {"F32", []int{10, 2}, bertMatrix}})
	if got, err := f.Embed(ctx, []string{"live"}); err == nil || got != nil {
		t.Errorf("got %v", got)
	}
}

func TestAFolderThatIsNoModelIsRefusedWithAHint(t *testing.T) {
	good := tensorsOf(map[string]made{"embeddings": {"F32", []int{10, 2}, bertMatrix}})
	matrix := func(kind string, shape []int, items []float64) []byte {
		return tensorsOf(map[string]made{"embeddings": {kind, shape, items}})
	}
	with := func(name string, m made) []byte {
		return tensorsOf(map[string]made{"embeddings": {"F32", []int{10, 2}, bertMatrix}, name: m})
	}
	replaced := func(old, new string) string {
		if !strings.Contains(bertFile, old) {
			t.Fatalf("%s is not in the file", old)
		}
		return strings.Replace(bertFile, old, new, 1)
	}
	for name, tt := range map[string]struct {
		tokenizer string
		tensors   []byte
		says      string
	}{
		"no JSON":                {"{", good, "tokenizer.json"},
		"no model":               {"{}", good, "no model"},
		"another model":          {replaced(`"type": "WordPiece", "unk`, `"type": "WordLevel", "unk`), good, `"WordLevel" is not supported`},
		"another normalizer":     {replaced("BertNormalizer", "Nmt"), good, `"Nmt" is not supported`},
		"another pre_tokenizer":  {replaced("BertPreTokenizer", "Split"), good, `"Split" is not supported`},
		"no unk":                 {replaced(`"unk_token": "[UNK]", `, ""), good, "unk_token"},
		"unk that is no token":   {replaced(`"unk_token": "[UNK]"`, `"unk_token": "x"`), good, "unk_token"},
		"a token before all":     {replaced(`{"id": 1, "content": "[UNK]", "special": true}`, `{"id": 1, "content": "live show", "special": false}`), good, "live show"},
		"a negative id":          {replaced(`".": 8`, `".": -8`), good, "id -8"},
		"more tokens than rows":  {replaced(`".": 8`, `".": 80`), good, "10 rows for 81 tokens"},
		"an empty matrix":        {bertFile, nil, "shorter"},
		"half of one":            {bertFile, good[:len(good)-1], "model.safetensors"},
		"no embeddings":          {bertFile, tensorsOf(map[string]made{"x": {"F32", []int{10, 2}, bertMatrix}}), "no matrix"},
		"one dimension":          {bertFile, matrix("F32", []int{20}, bertMatrix), "no matrix"},
		"no columns":             {bertFile, matrix("F32", []int{10, 0}, nil), "the shape [10 0]"},
		"whole numbers":          {bertFile, matrix("I64", []int{10, 2}, bertMatrix), "finite"},
		"no number":              {bertFile, matrix("F32", []int{10, 2}, append(slices.Clone(bertMatrix[:19]), math.NaN())), "finite"},
		"infinite":               {bertFile, matrix("F32", []int{10, 2}, append(slices.Clone(bertMatrix[:19]), math.Inf(1))), "finite"},
		"too few weights":        {bertFile, with("weights", made{"F32", []int{2}, []float64{1, 1}}), "weights"},
		"a mapping elsewhere":    {bertFile, with("mapping", made{"I64", []int{10}, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 10}}), "row 10 of 10"},
		"a mapping of fractions": {bertFile, with("mapping", made{"F32", []int{10}, make([]float64, 10)}), "mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := writeFolder(t, tt.tokenizer, tt.tensors)
			e, err := Open("model2vec:"+folder, Settings{})
			if err == nil || e != nil {
				t.Fatal("it is taken")
			}
			p := host.ProblemOf(err)
			if p.Code != abi.BadValue || p.Hint == "" || !strings.Contains(p.Message, tt.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("no folder", func(t *testing.T) {
		missing := filepath.Join(t.TempDir(), "gone")
		if _, err := OpenFolder(missing); err == nil || strings.Contains(host.ProblemOf(err).Message, missing) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTensorsLieInsideOfTheirFile(t *testing.T) {
	file := func(header string, data int) []byte {
		return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), make([]byte, data)...)
	}
	for name, bad := range map[string][]byte{
		"nothing":                {},
		"a header without end":   binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
		"a header beyond":        append(binary.LittleEndian.AppendUint64(nil, 100), "{}"...),
		"no object":              file(`[]`, 0),
		"a kind that is none":    file(`{"a":{"dtype":"U4","shape":[1],"data_offsets":[0,4]}}`, 4),
		"beyond the data":        file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 4),
		"backwards":              file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[4,0]}}`, 4),
		"before the data":        file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[-4,4]}}`, 4),
		"shorter than its shape": file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4),
		"a negative shape":       file(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, 4),
		"a shape that overflows": file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, 4),
		"three dimensions":       file(`{"a":{"dtype":"F32","shape":[1,1,1],"data_offsets":[0,4]}}`, 4),
	} {
		if got, err := parseTensors(bad); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestHalvesWiden(t *testing.T) {
	for bits := range 1 << 16 {
		sign, exponent, fraction := 1.0, bits>>10&0x1f, float64(bits&0x3ff)
		if bits&0x8000 != 0 {
			sign = -1
		}
		want := sign * math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction, -24)
		case exponent == 0x1f && fraction == 0:
			want = math.Inf(int(sign))
		case exponent == 0x1f:
			want = math.NaN()
		}
		if got := float64(half(uint16(bits))); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%04x is %v, want %v", bits, got, want)
		}
	}
}

func FuzzTensors(f *testing.F) {
	f.Add(tensorsOf(map[string]made{"embeddings": {"F32", []int{2, 2}, []float64{1, 2, 3, 4}}, "mapping": {"I64", []int{2}, []float64{0, 1}}}))
	f.Add(tensorsOf(map[string]made{"a": {"F16", []int{0}, nil}, "b": {"BF16", []int{1}, []float64{1}}, "c": {"I8", []int{1, 1}, []float64{1}}}))
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, err := parseTensors(file)
		if err != nil {
			return
		}
		for name, tensor := range tensors {
			items := 1
			for _, n := range tensor.shape {
				items *= n
			}
			if items*width(tensor.kind) != len(tensor.data) {
				t.Fatalf("%q has the shape %v and %d bytes", name, tensor.shape, len(tensor.data))
			}
			tensor.finite()
		}
	})
}

// BenchmarkFolder tells the texts/s of a model of 30,000 tokens and 256 dimensions,
// of texts of 100 words.
func BenchmarkFolder(b *testing.B) {
	const tokens, columns = 30_000, 256
	random := rand.New(rand.NewPCG(1, 2))
	vocabulary, words := map[string]int{"[UNK]": 0}, []string{}
	for i := 1; i < tokens; i++ {
		word := fmt.Sprintf("w%x", i*7919)
		if i%3 == 0 {
			vocabulary["##"+word] = i
		} else {
			vocabulary[word] = i
			words = append(words, word)
		}
	}
	text, err := json.Marshal(vocabulary)
	if err != nil {
		b.Fatal(err)
	}
	tokenizer := bertFile[:strings.Index(bertFile, `"vocab"`)] + `"vocab": ` + string(text) + "}}"
	items := make([]float64, tokens*columns)
	for i := range items {
		items[i] = float64(random.IntN(64)-32) / 2
	}
	var batch []string
	for range 64 {
		var said []string
		for range 100 {
			said = append(said, words[random.IntN(len(words))])
		}
		batch = append(batch, strings.Join(said, " "))
	}
	for _, kind := range []string{"F32", "F16"} {
		f := openModel(b, tokenizer, map[string]made{"embeddings": {kind, []int{tokens, columns}, items}})
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Embed(context.Background(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "texts/s")
		})
	}
}

// darts writes a charsmap of one replacement.
func darts(from, to string) string {
	trie := make([]uint32, (len(from)+2)*256)
	unit := func(at, base int, label uint32) { trie[at] = uint32(at^base)<<10 | label }
	unit(0, 256, 0)
	for i := range len(from) {
		at := (i+1)*256 ^ int(from[i])
		unit(at, (i+2)*256, uint32(from[i]))
		if i == len(from)-1 {
			trie[at] |= 1 << 8
		}
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(trie)*4))
	for _, u := range trie {
		data = binary.LittleEndian.AppendUint32(data, u)
	}
	return base64.StdEncoding.EncodeToString(append(data, to+"\x00"...))
}
