package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// kindOfGit gives what a mode of git's means here; it keeps the kind and
// whether a file can be executed.
func kindOfGit(mode filemode.FileMode) (kind fs.FileMode, known bool) {
	switch mode {
	case filemode.Regular, filemode.Executable:
		return 0, true
	case filemode.Dir:
		return fs.ModeDir, true
	case filemode.Symlink:
		return fs.ModeSymlink, true
	}
	return 0, false
}

func gitMode(mode fs.FileMode) filemode.FileMode {
	switch {
	case mode.IsDir():
		return filemode.Dir
	case mode&fs.ModeSymlink != 0:
		return filemode.Symlink
	case mode&0o111 != 0:
		return filemode.Executable
	}
	return filemode.Regular
}

// plainMode is what an entry has whose mode is not written down: what the
// store itself gives files and folders.
func plainMode(mode filemode.FileMode) fs.FileMode {
	switch mode {
	case filemode.Regular:
		return 0o600
	case filemode.Symlink:
		return 0
	}
	return 0o700
}

// encodeModes writes a line for every entry that has not its kind's plain
// mode: the bits as chmod takes them, a space, and the path in Go's quotes,
// since a name may be any bytes.
func encodeModes(list listing) []byte {
	var b bytes.Buffer
	for _, e := range list {
		if bits := e.mode & modeBits; bits != plainMode(gitMode(e.mode)) {
			fmt.Fprintf(&b, "%04o %q\n", octal(bits), e.path)
		}
	}
	return b.Bytes()
}

// parseModes reads what encodeModes has written.
func parseModes(r io.Reader) (map[string]fs.FileMode, error) {
	modes := map[string]fs.FileMode{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4*maxPathBytes+16) // each byte of a name may be quoted as four
	for lines.Scan() {
		number, quoted, _ := strings.Cut(lines.Text(), " ")
		bits, err := strconv.ParseUint(number, 8, 12)
		if err != nil {
			return nil, fmt.Errorf("%.20q is no mode", number)
		}
		name, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%.40q is no quoted path", quoted)
		}
		if len(modes) == maxEntries {
			return nil, errors.New("there are too many modes")
		}
		modes[name] = modeOf(uint32(bits))
	}
	return modes, lines.Err()
}

// octal gives a mode's bits as the system numbers them; Go has other numbers
// for some.
func octal(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if mode&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

// modeOf is the other way.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits) & fs.ModePerm
	if bits&0o4000 != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&0o2000 != 0 {
		mode |= fs.ModeSetgid
	}
	if bits&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
