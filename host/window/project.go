package window

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of project notes: they stand in every request.
const (
	projectFileBytes = 16 << 10
	projectBytes     = 32 << 10
)

// projectFiles are read in this order; what a later one says goes before what
// an earlier one says.
func projectFiles() []string {
	return []string{"SLUICE.md", ".sluice/SLUICE.md", "SLUICE.local.md", ".sluice/SLUICE.local.md"}
}

// Project gives the notes of a project's files, each under its name, later
// ones last. A file that is not there is passed over; one that is longer than
// 16 KiB loses its end, and earlier ones lose theirs where all together are
// longer than 32 KiB. A file that cannot be read, is a link or is not UTF-8 is
// an error.
func Project(files fs.FS) (string, error) {
	var notes []string
	room := projectBytes
	names := projectFiles()
	for i := len(names) - 1; i >= 0; i-- {
		text, err := projectFile(files, names[i], min(room, projectFileBytes))
		if err != nil {
			return "", err
		}
		if text == "" {
			continue
		}
		room = max(0, room-len(text))
		head := "## " + names[i]
		if len(notes) > 0 {
			head += " (where it differs from what is below, that holds)"
		}
		notes = append([]string{head + "\n" + text}, notes...)
	}
	return strings.Join(notes, "\n\n"), nil
}

func projectFile(files fs.FS, name string, most int) (string, error) {
	data, cutOff, err := head(files, name, most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", host.Fail("window.Project", abi.NewProblem(abi.BadValue, "the project's notes %s cannot be read: %s", name, reason(err)), err)
	case !utf8.Valid(data):
		return "", host.Fail("window.Project", abi.NewProblem(abi.BadValue, "the project's notes %s are not UTF-8 text", name), nil)
	}
	text := strings.TrimSpace(string(data))
	if cutOff {
		text += fmt.Sprintf("\n[… %s goes on; only its first %d bytes are read …]", name, most)
	}
	return text, nil
}

// head reads the beginning of a plain file, whole characters, and reports
// whether there is more. No part of its path may be a link: a link leads out
// of the files.
func head(files fs.FS, name string, most int) (data []byte, more bool, err error) {
	if err := plain(files, name); err != nil {
		return nil, false, err
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil || len(data) <= most {
		return data, false, err
	}
	data = data[:most]
	for i := 0; i < utf8.UTFMax && len(data) > 0; i++ {
		if r, size := utf8.DecodeLastRune(data); r != utf8.RuneError || size > 1 {
			break
		}
		data = data[:len(data)-1]
	}
	return data, true, nil
}

var (
	errLink   = errors.New("it is, or lies behind, a link")
	errFolder = errors.New("it is no plain file")
	errPath   = errors.New("it is no path inside the session's files")
)

// plain reports what keeps a path from being that of a plain file.
func plain(files fs.FS, name string) error {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return errPath
	}
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := fs.Lstat(files, name[:i])
		switch {
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return errLink
		case i == len(name) && !info.Mode().IsRegular():
			return errFolder
		}
	}
	return nil
}

// reason tells why a file cannot be read, without the path of a machine.
func reason(err error) string {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err.Error()
	}
	return err.Error()
}
