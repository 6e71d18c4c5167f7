//go:build !plaincopy

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A tracker finds what a call changed in a memory. It asks the kernel for the
// pages that are no longer the image's file: those that were ever written in
// this space, which holds for every page that this call wrote. Swapped pages
// count, too. It is safe for concurrent use on different spaces.
type tracker struct {
	pagemap *os.File // nil where the kernel tells nothing
	method  method
}

// A method is a way to find changed pages, best first.
type method int

const (
	byScan    method = iota // the PAGEMAP_SCAN ioctl of Linux 6.7, which skips what is not mapped
	byPagemap               // 8 bytes of /proc/self/pagemap for every page
	byCompare               // all pages are compared with the image
)

func (t *tracker) String() string {
	return [...]string{"PAGEMAP_SCAN", "/proc/self/pagemap", "comparing all pages"}[t.method]
}

// newTracker takes the best method that finds a written page here: what a
// kernel has cannot be told from its version.
func newTracker() (*tracker, error) {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return &tracker{method: byCompare}, nil
	}
	for m := byScan; m < byCompare; m++ {
		t := &tracker{f, m}
		if works, err := t.proves(); err != nil {
			return nil, errors.Join(err, f.Close())
		} else if works {
			return t, nil
		}
	}
	return &tracker{method: byCompare}, f.Close()
}

// proves writes every second page of a small memory and looks whether they are
// restored, and whether the others were left alone.
func (t *tracker) proves() (bool, error) {
	size := os.Getpagesize()
	im, err := newImage(make([]byte, 8*size))
	if err != nil {
		return false, err
	}
	defer im.close()
	s, err := newSpace(im, uint64(8*size))
	if err != nil {
		return false, err
	}
	defer s.free()
	for page := 0; page < 8; page += 2 {
		s.bytes()[page*size] = 1
		_ = s.bytes()[(page+1)*size]
	}
	pages, err := t.restore(s)
	return err == nil && pages == 4 && s.audit() == nil, nil
}

// close may be repeated.
func (t *tracker) close() error {
	if t.pagemap == nil {
		return nil
	}
	if err := t.pagemap.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// restore makes a memory equal to its image again and tells how many pages it
// copied.
func (t *tracker) restore(s *space) (pages int, err error) {
	switch t.method {
	case byScan:
		pages, err = t.scan(s)
	case byPagemap:
		pages, err = t.read(s)
	default:
		pages = s.compareAll()
	}
	runtime.KeepAlive(t)
	return pages, err
}

// Names and layouts of <linux/fs.h>.
const (
	pagemapScan   = 0xc0606610
	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
)

type scanArg struct {
	size, flags, start, end, walkEnd, regions, regionCount, maxPages uint64
	categoryInverted, categoryMask, categoryAnyofMask, returnMask    uint64
}

type pageRegion struct{ start, end, categories uint64 }

// found is where the kernel writes what it found: in the heap, since a
// goroutine's stack may move between taking an address and using it.
type found struct {
	arg     scanArg
	regions [128]pageRegion
}

// scan asks for the pages that are present or swapped and not of a file. The
// kernel stops where the regions are full and tells where to go on.
func (t *tracker) scan(s *space) (pages int, err error) {
	from := uint64(uintptr(s.base))
	end := from + uint64(len(s.image.bytes))
	arg, regions := &s.found.arg, &s.found.regions
	*arg = scanArg{
		size: uint64(unsafe.Sizeof(*arg)), end: end,
		regionCount: uint64(len(regions)), regions: uint64(uintptr(unsafe.Pointer(regions))),
		categoryInverted: pageIsFile, categoryMask: pageIsFile,
		categoryAnyofMask: pageIsPresent | pageIsSwapped, returnMask: pageIsPresent | pageIsSwapped,
	}
	for arg.start = from; arg.start < end; arg.start = arg.walkEnd {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, t.pagemap.Fd(), pagemapScan, uintptr(unsafe.Pointer(arg)))
		if errno != 0 {
			return pages, fmt.Errorf("PAGEMAP_SCAN: %w", errno)
		}
		if arg.walkEnd <= arg.start {
			return pages, errors.New("PAGEMAP_SCAN does not get on")
		}
		for _, r := range regions[:n] {
			pages += s.copyBack(r.start-from, r.end-from)
		}
	}
	return pages, nil
}

// copyBack restores the bytes between two offsets.
func (s *space) copyBack(from, to uint64) (pages int) {
	copy(s.bytes()[from:to], s.image.bytes[from:to])
	return int(to-from) / os.Getpagesize()
}

const (
	pagemapPresent = 1 << 63
	pagemapSwapped = 1 << 62
	pagemapFile    = 1 << 61
)

// read looks at the entry of every page.
func (t *tracker) read(s *space) (pages int, err error) {
	size := uint64(os.Getpagesize())
	first := uint64(uintptr(s.base)) / size
	var entries [1024]uint64
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&entries)), len(entries)*8)
	for at, count := uint64(0), uint64(len(s.image.bytes))/size; at < count; {
		n := min(count-at, uint64(len(entries)))
		if _, err := t.pagemap.ReadAt(raw[:n*8], int64((first+at)*8)); err != nil {
			return pages, fmt.Errorf("reading /proc/self/pagemap: %w", err)
		}
		for i := range n {
			e := binary.NativeEndian.Uint64(raw[i*8:])
			if e&pagemapSwapped != 0 || e&pagemapPresent != 0 && e&pagemapFile == 0 {
				pages += s.copyBack((at+i)*size, (at+i+1)*size)
			}
		}
		at += n
	}
	return pages, nil
}
