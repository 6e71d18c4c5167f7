package sandbox

import (
	"bytes"
	"errors"
)

// A space is the addresses of one guest's memory. It is made for the largest
// size that the memory may have, so that growing never moves it, and begins
// with an image, if there is one.
//
// On Linux an image is a sealed file in memory that every space of it maps:
// a page is the guest's own from its first write on, and the others are shared
// by all. So the kernel knows which pages may differ from the image, and
// restoring copies only those. On other systems a space is a copy of the
// image, and all of it is compared; with the build tag plaincopy on Linux, too,
// for its tests.

// errDiffers says that a memory was restored and is not its image.
var errDiffers = errors.New("the memory differs from its image")

// audit compares the whole memory with its image.
func (s *space) audit() error {
	if s.image != nil && !bytes.Equal(s.bytes()[:len(s.image.bytes)], s.image.bytes) {
		return errDiffers
	}
	return nil
}

// compareAll restores by comparing every page with the image. It needs nothing
// of the system.
func (s *space) compareAll() (restored int) {
	const page = 4096
	was, is := s.image.bytes, s.bytes()
	for at := 0; at < len(was); at += page {
		end := min(at+page, len(was))
		if !bytes.Equal(is[at:end], was[at:end]) {
			copy(is[at:end], was[at:end])
			restored++
		}
	}
	return restored
}
