package registry

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// stamp writes sha256 and size into a skill.yaml and leaves every other byte
// as it is: the lines of the two fields are replaced where they stand, or put
// below the one that names the module. It proves the result by reading it back.
func stamp(source []byte, sha256 string, size int64) ([]byte, error) {
	root, err := topOf(source)
	if err != nil {
		return nil, err
	}
	lines := linesOf(source)
	module := lineOf(root, "module")
	if module == 0 || module > len(lines) {
		return nil, errors.New("it has no line module:")
	}
	var missing [][]byte
	for _, f := range []struct{ name, value string }{
		// Quoted, since digits alone would be a number.
		{"sha256", fmt.Sprintf("%q", sha256)},
		{"size", fmt.Sprint(size)},
	} {
		if at := lineOf(root, f.name); at > 0 && at <= len(lines) {
			lines[at-1] = setField(lines[at-1], f.value)
			continue
		}
		missing = append(missing, newField(lines[module-1], f.name, f.value))
	}
	if _, ending := cutEnding(lines[module-1]); len(ending) == 0 && len(missing) > 0 {
		lines[module-1] = append(slices.Clip(lines[module-1]), '\n') // it was the last
	}
	lines = slices.Insert(lines, module, missing...)
	stamped := bytes.Join(lines, nil)
	return stamped, sameBut(source, stamped, sha256, size)
}

// linesOf cuts a text into lines with their endings, where YAML sees some.
func linesOf(text []byte) [][]byte {
	const ends = `\r\n\x{85}\x{2028}\x{2029}`
	return regexp.MustCompile(`[^`+ends+`]*(\r\n|[`+ends+`]|$)`).FindAll(text, -1)
}

func cutEnding(line []byte) (text, ending []byte) {
	text = bytes.TrimRight(line, "\r\n\u0085\u2028\u2029")
	return text, line[len(text):]
}

// topOf gives the mapping that a skill.yaml is. One in braces has no lines of
// its own for the fields.
func topOf(source []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(source, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode || document.Content[0].Style&yaml.FlowStyle != 0 {
		return nil, errors.New("it is not a list of fields, one on each line")
	}
	return document.Content[0], nil
}

// lineOf gives the line of a field of a mapping, from 1; 0 if there is none.
func lineOf(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i].Line
		}
	}
	return 0
}

// setField replaces the value in a line such as `size: 12  # bytes`.
func setField(line []byte, value string) []byte {
	// Field with colon; value, quoted or plain; what follows.
	form := regexp.MustCompile(`^(\s*["']?\w+["']?\s*:)[ \t]*("[^"]*"|'[^']*'|[^\s#"'][^\s]*)?(\s.*|)$`)
	text, ending := cutEnding(line)
	parts := form.FindSubmatch(text)
	if parts == nil {
		return line // the proof will fail
	}
	return slices.Concat(parts[1], []byte(" "+value), parts[3], ending)
}

// newField makes a line with the indentation and the ending of another one.
func newField(like []byte, name, value string) []byte {
	indent := like[:len(like)-len(bytes.TrimLeft(like, " "))]
	_, ending := cutEnding(like)
	if len(ending) == 0 {
		ending = []byte("\n")
	}
	return slices.Concat(indent, []byte(name+": "+value), ending)
}

// sameBut demands that two documents say the same but for sha256 and size,
// which the second has as given.
func sameBut(before, after []byte, sha256 string, size int64) error {
	was, err := fields(before)
	if err != nil {
		return err
	}
	is, err := fields(after)
	if err != nil {
		return err
	}
	if is["sha256"] != sha256 || fmt.Sprint(is["size"]) != fmt.Sprint(size) {
		return errors.New("sha256 and size cannot be written as lines of their own")
	}
	for _, name := range []string{"sha256", "size"} {
		delete(was, name)
		delete(is, name)
	}
	if !reflect.DeepEqual(was, is) {
		return errors.New("the lines of module, sha256 and size hold more than one field each")
	}
	return nil
}

func fields(source []byte) (map[string]any, error) {
	var all map[string]any
	err := yaml.Unmarshal(source, &all)
	return all, err
}
