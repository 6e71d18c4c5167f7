//go:build !plaincopy

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An image is what a guest's memory is before every call. It cannot be
// written, not even by this process.
type image struct {
	bytes []byte // mapped
	file  *os.File
}

// newImage makes an image of whole pages. The bytes are copied.
func newImage(b []byte) (*image, error) {
	fd, err := unix.MemfdCreate("sluice-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("an image cannot be made: %w", err)
	}
	im := &image{file: os.NewFile(uintptr(fd), "sluice-image")}
	if err := im.fill(b); err != nil {
		return nil, errors.Join(fmt.Errorf("an image cannot be made: %w", err), im.close())
	}
	return im, nil
}

func (im *image) fill(b []byte) error {
	if err := im.file.Truncate(int64(len(b))); err != nil || len(b) == 0 {
		return err
	}
	for at := 0; at < len(b); at += pageSize {
		// Pages of zeros stay holes.
		if page := b[at:min(at+pageSize, len(b))]; !isZero(page) {
			if _, err := im.file.WriteAt(page, int64(at)); err != nil {
				return err
			}
		}
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(im.file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return err
	}
	var err error
	im.bytes, err = unix.Mmap(int(im.file.Fd()), 0, len(b), unix.PROT_READ, unix.MAP_SHARED)
	return err
}

// pageSize is the unit in which an image is filled: a divisor of the system's.
const pageSize = 4096

func isZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// close lets go of the image. Spaces of it live on.
func (im *image) close() error {
	var err error
	if im.bytes != nil {
		err = unix.Munmap(im.bytes)
		im.bytes = nil
	}
	return errors.Join(err, im.file.Close())
}

type space struct {
	image *image
	base  unsafe.Pointer
	most  uint64 // bytes of addresses
	size  uint64 // bytes that may be used; what is above them faults
	found *found
}

// newSpace takes addresses for a memory of most bytes, a multiple of 64 KiB,
// and no memory.
func newSpace(im *image, most uint64) (*space, error) {
	s := &space{image: im, most: most, found: &found{}}
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(most), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("there are no addresses for a guest's memory: %w", err)
	}
	s.base = base
	if im != nil && len(im.bytes) > 0 {
		n := uintptr(len(im.bytes))
		_, err = unix.MmapPtr(int(im.file.Fd()), 0, base, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
		s.size = uint64(n)
	}
	if err != nil {
		s.free()
		return nil, fmt.Errorf("an image cannot be mapped: %w", err)
	}
	// Huge pages would make one written byte cost 2 MiB. A kernel without them
	// refuses the advice.
	_ = unix.Madvise(s.all(), unix.MADV_NOHUGEPAGE)
	return s, nil
}

func (s *space) all() []byte { return unsafe.Slice((*byte)(s.base), s.most) }

func (s *space) bytes() []byte { return s.all()[:s.size] }

// grow gives the memory with a size, or nil where it cannot be had.
func (s *space) grow(size uint64) []byte {
	if size > s.most {
		return nil
	}
	if size > s.size {
		if unix.Mprotect(s.all()[s.size:size], unix.PROT_READ|unix.PROT_WRITE) != nil {
			return nil
		}
		s.size = size
	}
	return s.all()[:size:size]
}

// free gives the addresses back. It may be repeated.
func (s *space) free() {
	if s.base == nil {
		return
	}
	if err := unix.MunmapPtr(s.base, uintptr(s.most)); err != nil {
		panic("BUG: a mapping of our own cannot be unmapped: " + err.Error())
	}
	s.base, s.most, s.size = nil, 0, 0
}
