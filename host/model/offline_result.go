package model

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of what is told of a result.
const (
	listedMax    = 6   // members of an object, or items of a list
	previewRunes = 300 // of a preview, which is one line by contract
	valueRunes   = 60  // of one value
)

// A result is what a tool result says: a problem, one line for people, or
// data.
type result struct {
	problem *abi.Problem
	preview string
	data    any
}

// readResult reads the text of a tool result: {"problem":{…}}, JSON data, or a
// preview, alone or with JSON data on the lines after it.
func readResult(m Message) result {
	text := strings.TrimSpace(m.Text)
	data, isJSON := decode(text)
	if !isJSON {
		preview, _, _ := strings.Cut(text, "\n")
		return result{preview: cutRunes(strings.TrimSpace(preview), previewRunes)}
	}
	object, _ := data.(map[string]any)
	if !m.OK {
		if p := problemIn(text); p != nil {
			return result{problem: p}
		}
	}
	if preview, ok := object["preview"].(string); ok && preview != "" {
		return result{preview: cutRunes(preview, previewRunes)}
	}
	if text, ok := data.(string); ok {
		return result{preview: cutRunes(text, previewRunes)}
	}
	return result{data: data}
}

func decode(text string) (any, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var data any
	if d.Decode(&data) != nil {
		return nil, false
	}
	_, err := d.Token()
	return data, err == io.EOF
}

// problemIn reads a problem, or gives nil where the text is none.
func problemIn(text string) *abi.Problem {
	var envelope struct {
		Problem *abi.Problem `json:"problem"`
	}
	if json.Unmarshal([]byte(text), &envelope) != nil || envelope.Problem == nil || envelope.Problem.Code == 0 {
		return nil
	}
	return envelope.Problem
}

// isEmpty reports whether the data holds nothing to tell.
func (r result) isEmpty() bool {
	switch v := r.data.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		list, one := onlyList(v)
		return len(v) == 0 || one && len(list) == 0
	}
	return false
}

// data tells data in a few words.
func (s speaker) data(data any) string {
	switch v := data.(type) {
	case []any:
		return s.items(v)
	case map[string]any:
		if list, ok := onlyList(v); ok {
			return s.items(list)
		}
		return s.members(v)
	}
	return short(data)
}

// onlyList gives the one list of an object that holds a list and, beside it,
// nothing but counts.
func onlyList(object map[string]any) ([]any, bool) {
	var found []any
	lists := 0
	for name, v := range object {
		if list, ok := v.([]any); ok {
			found, lists = list, lists+1
		} else if !slices.Contains([]string{"total", "count", "next", "more", "truncated"}, name) {
			return nil, false
		}
	}
	return found, lists == 1
}

func (s speaker) items(list []any) string {
	var told []string
	for _, item := range list[:min(len(list), listedMax)] {
		if object, ok := item.(map[string]any); ok {
			told = append(told, s.itemName(object))
		} else {
			told = append(told, short(item))
		}
	}
	text := s.list(told)
	if len(list) > listedMax {
		text += s.pick(" and %d more", "，另有 %d 项", len(list)-listedMax)
	}
	return text
}

// itemName tells one item of a list by its name, its id and its price, as far
// as it has them, else by its members.
func (s speaker) itemName(object map[string]any) string {
	var parts []string
	for _, keys := range [][]string{{"name", "title", "label"}, {"sku", "id", "code"}, {"price", "amount", "status"}} {
		for _, k := range keys {
			if v, ok := object[k]; ok && isScalar(v) {
				parts = append(parts, short(v))
				break
			}
		}
	}
	if len(parts) == 0 {
		return s.members(object)
	}
	return strings.Join(parts, " ")
}

func (s speaker) members(object map[string]any) string {
	var names []string
	for name, v := range object {
		if isScalar(v) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var told []string
	for _, name := range names[:min(len(names), listedMax)] {
		told = append(told, name+" "+short(object[name]))
	}
	if len(told) == 0 {
		return s.pick("%d entries", "%d 项", len(object))
	}
	return s.list(told)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any, nil:
		return false
	}
	return true
}

func short(v any) string { return cutRunes(strings.TrimSpace(fmt.Sprint(v)), valueRunes) }
