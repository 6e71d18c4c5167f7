package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/host/files"
)

// 1,000 files of 4 KiB that have nothing in common.
func BenchmarkCheckpoint(b *testing.B) {
	root := b.TempDir()
	store, err := files.Open(root)
	must(b, err)
	defer store.Close()
	begin := func() (tree string) {
		must(b, store.PurgeSession(ctx, ref))
		_, err := store.Checkpoint(ctx, ref, "empty")
		must(b, err)
		found, err := filepath.Glob(filepath.Join(root, "*", "*", "files"))
		must(b, err)
		for i := range 1000 {
			name := filepath.Join(found[0], fmt.Sprint(i%20), fmt.Sprint(i))
			must(b, os.MkdirAll(filepath.Dir(name), 0o700))
			data := make([]byte, 4096)
			for k := range data {
				data[k] = byte(k * (i + 3) >> 3)
			}
			copy(data, fmt.Sprint(i))
			must(b, os.WriteFile(name, data, 0o600))
		}
		return found[0]
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			begin()
			b.StartTimer()
			_, err := store.Checkpoint(ctx, ref, "first")
			must(b, err)
		}
	})
	tree := begin()
	first, err := store.Checkpoint(ctx, ref, "first")
	must(b, err)
	n := 0
	b.Run("second", func(b *testing.B) {
		for b.Loop() {
			n++
			must(b, os.WriteFile(filepath.Join(tree, "0", "0"), fmt.Append(nil, n), 0o600))
			_, err := store.Checkpoint(ctx, ref, "second")
			must(b, err)
		}
	})
	first, err = store.Checkpoint(ctx, ref, "before")
	must(b, err)
	b.Run("rollback", func(b *testing.B) {
		for b.Loop() {
			must(b, store.Rollback(ctx, ref, first.ID))
		}
	})
}
