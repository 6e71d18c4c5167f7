package embed

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of the files of a model.
const (
	configBytes    = 1 << 20
	tokenizerBytes = 128 << 20 // half a million tokens with their scores have 30 MiB
	matrixBytes    = 2 << 30   // twice half a million vectors of 512
	tokensMax      = 512       // of one text, as model2vec has it by default
)

// A Folder is an embedder of static vectors, one for each token, in the form of
// model2vec. It is safe for concurrent use. The vectors are in memory, in the
// precision of the file.
type Folder struct {
	name       string
	tokenizer  *tokenizer
	rows       tensor
	mapping    *tensor // row of each token; the row of its id where nil
	weights    *tensor // of each token; 1 where nil
	dimensions int
}

var _ memory.Embedder = (*Folder)(nil)

// OpenFolder reads a model: config.json, tokenizer.json and model.safetensors. Errors are
// of host.Fail, with what to do.
func OpenFolder(path string) (*Folder, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, host.Fail("embed.OpenFolder", abi.NewProblem(abi.BadValue, "the folder of the embedder is no model that can be used: %v", err).
			WithHint("give a folder in the form of model2vec, such as a copy of potion-base-8M: config.json, tokenizer.json (WordPiece, Unigram or BPE) and model.safetensors"), nil)
	}
	return f, nil
}

func openFolder(path string) (*Folder, error) {
	sum := sha256.New()
	read := func(name string, most int64) ([]byte, error) {
		file, err := readFile(filepath.Join(path, name), most)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
		}
		part := sha256.Sum256(file)
		sum.Write(part[:])
		return file, nil
	}
	config, err := read("config.json", configBytes)
	if err != nil {
		return nil, err
	}
	if !json.Valid(config) {
		return nil, errors.New("config.json: no JSON")
	}
	vocabulary, err := read("tokenizer.json", tokenizerBytes)
	if err != nil {
		return nil, err
	}
	matrix, err := read("model.safetensors", matrixBytes)
	if err != nil {
		return nil, err
	}
	f := &Folder{}
	if f.tokenizer, err = parseTokenizer(vocabulary); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if err := f.readMatrix(matrix); err != nil {
		return nil, fmt.Errorf("model.safetensors: %w", err)
	}
	f.name = fmt.Sprintf("model2vec:%x:%d", sum.Sum(nil)[:8], f.dimensions)
	return f, nil
}

// readFile reads a regular file of bounded size.
func readFile(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("no file")
	case info.Size() > most:
		return nil, fmt.Errorf("%d bytes, of %d at most", info.Size(), most)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, err
	}
	return data, nil
}

// withoutPath gives the part of an error of the file system that does not repeat
// where on this machine the file is.
func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// readMatrix reads the vectors, and holds them against the tokenizer: each id must
// have a row, a finite one.
func (f *Folder) readMatrix(file []byte) error {
	tensors, err := parseTensors(file)
	if err != nil {
		return err
	}
	rows, ok := tensors["embeddings"]
	if !ok {
		rows, ok = tensors["embedding.weight"] // as sentence-transformers saves them
	}
	if !ok || len(rows.shape) != 2 || rows.shape[0] == 0 || rows.shape[1] == 0 || rows.shape[1] > MaxDimensions {
		return fmt.Errorf("no matrix \"embeddings\" of up to %d columns", MaxDimensions)
	}
	if rows.kind == "I32" || rows.kind == "I64" || !rows.finite() {
		return errors.New("embeddings that are not finite numbers")
	}
	f.rows, f.dimensions = rows, rows.shape[1]
	if err := f.readMapping(tensors); err != nil {
		return err
	}
	if f.mapping == nil && f.tokenizer.size > rows.shape[0] {
		return fmt.Errorf("%d rows for %d tokens", rows.shape[0], f.tokenizer.size)
	}
	return nil
}

// readMapping reads what a model with fewer rows than tokens has: the row of each
// token, and its weight.
func (f *Folder) readMapping(tensors map[string]tensor) error {
	if weights, ok := tensors["weights"]; ok {
		if len(weights.shape) != 1 || weights.shape[0] < f.tokenizer.size || !weights.finite() {
			return fmt.Errorf("weights of the shape %v for %d tokens, or not finite", weights.shape, f.tokenizer.size)
		}
		f.weights = &weights
	}
	mapping, ok := tensors["mapping"]
	if !ok {
		return nil
	}
	if len(mapping.shape) != 1 || mapping.shape[0] < f.tokenizer.size || mapping.kind != "I64" && mapping.kind != "I32" {
		return fmt.Errorf("a mapping of the kind %s and the shape %v for %d tokens", mapping.kind, mapping.shape, f.tokenizer.size)
	}
	for id := range mapping.shape[0] {
		if row := mapping.int(id); row < 0 || row >= int64(f.rows.shape[0]) {
			return fmt.Errorf("token %d has the row %d of %d", id, row, f.rows.shape[0])
		}
	}
	f.mapping = &mapping
	return nil
}

// Name tells the model by the digest of its files, wherever the folder is.
func (f *Folder) Name() string { return f.name }

// Dimensions is the number of columns.
func (f *Folder) Dimensions() int { return f.dimensions }

// Embed gives a normalised vector for each text, and nil for one without a known
// token. Errors are of host.Fail.
func (f *Folder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := checkTexts("embed.Folder.Embed", texts); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, host.Fail("embed.Folder.Embed", nil, err)
		}
		vectors[i] = f.vector(text)
	}
	return vectors, nil
}

// vector is the mean of a text's tokens, normalised; nil where they are none, or cancel
// each other out.
func (f *Folder) vector(text string) []float32 {
	ids := f.tokenizer.tokens(text, tokensMax)
	if len(ids) == 0 {
		return nil
	}
	sum := make([]float32, f.dimensions)
	share := 1 / float32(len(ids))
	for _, id := range ids {
		row, weight := int(id), share
		if f.mapping != nil {
			row = int(f.mapping.int(row))
		}
		if f.weights != nil {
			weight *= f.weights.float(int(id))
		}
		f.rows.addRow(sum, row, weight)
	}
	if normalise(sum) != nil {
		return nil
	}
	return sum
}
