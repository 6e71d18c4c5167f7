//go:build !linux || plaincopy

package sandbox

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// The tag plaincopy gives Linux the memory that other systems have.
func TestPlainCopyRestoresWhatWasWritten(t *testing.T) {
	const size = 8 << 16
	random := rand.New(rand.NewPCG(1, 2))
	was := make([]byte, size)
	for i := range was {
		was[i] = byte(random.Uint32())
	}
	im, err := newImage(bytes.Clone(was))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newTracker()
	if err != nil {
		t.Fatal(err)
	}
	one, other := plainSpace(t, im, 2*size), plainSpace(t, im, 2*size)
	for range 200 {
		written := map[int]bool{}
		for range random.IntN(100) {
			at := random.IntN(size)
			one.bytes()[at] = was[at] ^ byte(1+random.IntN(255))
			written[at/4096] = true
		}
		if len(written) > 0 && one.audit() == nil {
			t.Fatal("a changed byte was not noticed")
		}
		if err := other.audit(); err != nil {
			t.Fatal("the other space has changed")
		}
		if pages, err := tr.restore(one); err != nil || pages != len(written) {
			t.Fatalf("%d pages were copied after %d were written (%v)", pages, len(written), err)
		}
		if err := one.audit(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(im.bytes, was) {
		t.Error("the image has changed")
	}
}

func TestPlainCopyGrowsUpToItsMost(t *testing.T) {
	im, err := newImage(bytes.Repeat([]byte("x"), 1<<16))
	if err != nil {
		t.Fatal(err)
	}
	s := plainSpace(t, im, 4<<16)
	for pages := 2; pages <= 4; pages++ {
		b := s.grow(uint64(pages) << 16)
		if len(b) != pages<<16 || !bytes.Equal(b[:1<<16], im.bytes) || bytes.Count(b[1<<16:], []byte{0}) != (pages-1)<<16 {
			t.Fatalf("it grew to %d bytes, which are not its own and zeros", len(b))
		}
	}
	if s.grow(5<<16) != nil {
		t.Error("it grew above its most")
	}
	s.free()
	s.free()
}

func plainSpace(t *testing.T, im *image, most int) *space {
	t.Helper()
	s, err := newSpace(im, uint64(most))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.free)
	return s
}
