//go:build !linux || plaincopy

package sandbox

// An image is what a guest's memory is before every call.
type image struct{ bytes []byte }

func newImage(b []byte) (*image, error) { return &image{b}, nil }

func (*image) close() error { return nil }

type space struct {
	image *image
	most  uint64
	now   []byte
}

func newSpace(im *image, most uint64) (*space, error) {
	s := &space{image: im, most: most}
	if im != nil {
		s.now = append(s.now, im.bytes...)
	}
	return s, nil
}

func (s *space) bytes() []byte { return s.now }

// grow gives the memory with a size, or nil where it cannot be had.
func (s *space) grow(size uint64) []byte {
	switch {
	case size > s.most:
		return nil
	case size > uint64(cap(s.now)):
		// A quarter more, so that growing page by page copies little.
		grown := make([]byte, size, min(s.most, size+size/4))
		copy(grown, s.now)
		s.now = grown
	}
	s.now = s.now[:size]
	return s.now
}

func (s *space) free() { s.now = nil }

// A tracker finds what a call changed in a memory.
type tracker struct{}

func newTracker() (*tracker, error) { return &tracker{}, nil }

func (*tracker) String() string { return "comparing all pages" }

func (*tracker) close() error { return nil }

// restore makes a memory equal to its image again.
func (*tracker) restore(s *space) (pages int, err error) { return s.compareAll(), nil }
