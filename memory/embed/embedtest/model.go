package embedtest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dimensions is the length of every vector.
const Dimensions = 32

// A Model gives some words a vector; the vector of a text is the mean of its words'.
// What it does not know is left out. It may be served and read at once.
type Model map[string][]float32

var _ http.Handler = Model{}

// Helpful gives both words of a pair one vector.
func Helpful() Model {
	return made(func(german [][]float32, i int) []float32 { return german[i] })
}

// Harmful gives an English word the vector of the next thing on the same shelf.
func Harmful() Model {
	return made(func(german [][]float32, i int) []float32 { return german[i/perShelf*perShelf+(i+1)%perShelf] })
}

// Noisy gives English words vectors that have nothing to do with the German ones.
func Noisy() Model {
	random := rand.New(rand.NewPCG(2, 2))
	return made(func([][]float32, int) []float32 { return direction(random) })
}

func made(english func(german [][]float32, i int) []float32) Model {
	random := rand.New(rand.NewPCG(1, 1))
	german := make([][]float32, len(pairs()))
	for i := range german {
		german[i] = direction(random)
	}
	m := Model{}
	for i, pair := range pairs() {
		m[pair.german], m[pair.english] = german[i], english(german, i)
	}
	return m
}

func direction(random *rand.Rand) []float32 {
	v := make([]float32, Dimensions)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v
}

// words are sorted, so that a folder has the same bytes every time.
func (m Model) words() []string {
	words := make([]string, 0, len(m))
	for word := range m {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// WriteFolder makes a folder with the model.
func (m Model) WriteFolder(folder string) error {
	const unknown = "[UNK]"
	vocabulary := map[string]int{unknown: 0}
	matrix := make([]byte, 4*Dimensions) // of the unknown, which is left out
	for i, word := range m.words() {
		vocabulary[word] = i + 1
		for _, x := range m[word] {
			matrix = binary.LittleEndian.AppendUint32(matrix, math.Float32bits(x))
		}
	}
	header, err := json.Marshal(map[string]any{"embeddings": map[string]any{
		"dtype": "F32", "shape": []int{len(vocabulary), Dimensions}, "data_offsets": []int{0, len(matrix)},
	}})
	if err != nil {
		return err
	}
	tokenizer, err := json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": []any{map[string]any{"id": 0, "content": unknown, "special": true}},
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model":         map[string]any{"type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
	})
	if err != nil {
		return err
	}
	return writeAll(folder, map[string][]byte{
		"config.json":       []byte(`{"model_type": "model2vec", "normalize": true}`),
		"tokenizer.json":    tokenizer,
		"model.safetensors": slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header, matrix),
	})
}

func writeAll(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ServeHTTP answers a request for embeddings. A text without a known word has a vector
// of its own, as such endpoints give one.
func (m Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	items := make([]item, len(asked.Input))
	for i, text := range asked.Input {
		items[i] = item{"embedding", i, m.vector(text)}
	}
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": items})
}

func (m Model) vector(text string) []float32 {
	sum := make([]float32, Dimensions)
	known := false
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }) {
		for i, x := range m[word] {
			sum[i] += x
			known = true
		}
	}
	if !known {
		sum[0] = 1
	}
	return sum
}
