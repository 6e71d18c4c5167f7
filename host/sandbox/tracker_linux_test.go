//go:build !plaincopy

package sandbox

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
)

// trackers gives every way to restore that this machine has.
func trackers(t *testing.T) []*tracker {
	t.Helper()
	var all []*tracker
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Logf("without /proc/self/pagemap: %v", err)
		return []*tracker{{method: byCompare}}
	}
	t.Cleanup(func() { _ = pagemap.Close() })
	for m := byScan; m <= byCompare; m++ {
		tr := &tracker{pagemap, m}
		if works, err := tr.proves(); err != nil {
			t.Fatal(err)
		} else if works {
			all = append(all, tr)
		} else {
			t.Logf("%v does not work here", tr)
		}
	}
	return all
}

func testImage(t *testing.T, random *rand.Rand, size int) *image {
	t.Helper()
	b := make([]byte, size)
	for at := 0; at < size; at += 4096 * (1 + random.IntN(3)) {
		b[at+random.IntN(4096)] = byte(random.Uint32())
	}
	im, err := newImage(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(im.bytes, b) {
		t.Fatal("the image is not what it was made of")
	}
	t.Cleanup(func() { _ = im.close() })
	return im
}

func testSpace(t *testing.T, im *image, most int) *space {
	t.Helper()
	s, err := newSpace(im, uint64(most))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.free)
	return s
}

func TestEveryWayRestoresWhatWasWritten(t *testing.T) {
	const size = 40 << 16
	for _, tr := range trackers(t) {
		t.Run(tr.String(), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			s := testSpace(t, testImage(t, random, size), 2*size)
			for round := range 200 {
				for range random.IntN(100) {
					s.bytes()[random.IntN(size)] ^= byte(1 + random.IntN(255))
				}
				if round%50 == 7 { // all of it, in more pieces than the kernel tells at once
					for at := 0; at < size; at += 8192 {
						s.bytes()[at]++
					}
				}
				if _, err := tr.restore(s); err != nil {
					t.Fatal(err)
				}
				if err := s.audit(); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
			}
		})
	}
}

// What was never written costs nothing, however large the memory is.
func TestOnlyWrittenPagesAreCopied(t *testing.T) {
	const size = 64 << 16
	random := rand.New(rand.NewPCG(3, 4))
	for _, tr := range trackers(t) {
		s := testSpace(t, testImage(t, random, size), size)
		if err := s.audit(); err != nil { // reads everything
			t.Fatal(err)
		}
		if pages, err := tr.restore(s); err != nil || pages != 0 {
			t.Errorf("%v: %d pages were copied without a write (%v)", tr, pages, err)
		}
		for _, page := range []int{0, 1, 500, size/os.Getpagesize() - 1} {
			s.bytes()[page*os.Getpagesize()] ^= 0xff
		}
		if pages, err := tr.restore(s); err != nil || pages != 4 {
			t.Errorf("%v: %d pages were copied after 4 were written (%v)", tr, pages, err)
		}
	}
}

// Two spaces of one image do not see each other, and the image cannot be
// written at all.
func TestSpacesShareNothingThatIsWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	im := testImage(t, random, 1<<16)
	a, b := testSpace(t, im, 1<<16), testSpace(t, im, 1<<16)
	copy(a.bytes(), "a secret of one tenant")
	if err := b.audit(); err != nil {
		t.Error(err)
	}
	if _, err := im.file.WriteAt([]byte("x"), 0); err == nil {
		t.Error("the image was written")
	}
	if err := im.file.Truncate(0); err == nil {
		t.Error("the image was cut")
	}
}

func TestASpaceGrowsInPlaceUpToItsMost(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	s := testSpace(t, testImage(t, random, 1<<16), 4<<16)
	before := &s.bytes()[0]
	grown := s.grow(4 << 16)
	if len(grown) != 4<<16 || &grown[0] != before || !isZero(grown[1<<16:]) {
		t.Errorf("it grew to %d bytes", len(grown))
	}
	grown[4<<16-1] = 1
	if s.grow(5<<16) != nil {
		t.Error("it grew above its most")
	}
	if err := s.audit(); err != nil {
		t.Error(err)
	}
	s.free()
	s.free()
}

func TestAuditNoticesWhatWasNotRestored(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	s := testSpace(t, testImage(t, random, 1<<16), 1<<16)
	s.bytes()[5000] ^= 1
	if s.audit() == nil {
		t.Error("a changed byte was not noticed")
	}
}

// A kernel that tells nothing, or something wrong, is not believed.
func TestATrackerThatMissesPagesIsNotUsed(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for m := byScan; m < byCompare; m++ {
		if works, err := (&tracker{null, m}).proves(); works || err != nil {
			t.Errorf("%v with nothing behind it works (%v)", &tracker{method: m}, err)
		}
	}
}

func BenchmarkRestoreOf64Pages(b *testing.B) {
	im, err := newImage(bytes.Repeat([]byte("x"), 52<<16))
	if err != nil {
		b.Fatal(err)
	}
	s, err := newSpace(im, 64<<16)
	if err != nil {
		b.Fatal(err)
	}
	tr, err := newTracker()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for page := range 64 {
			s.bytes()[page*3*4096]++
		}
		if pages, err := tr.restore(s); err != nil || pages != 64 {
			b.Fatal(pages, err)
		}
	}
}
