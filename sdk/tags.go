package sdk

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi/value"
	"github.com/sluicehq/sluice/abi/wire"
)

// tag adds what the field's struct tags say. For a list, minlen and maxlen
// bound the number of items, and enum, min, max and pattern are about each
// item.
func (s *schema) tag(f reflect.StructField, input, apart bool) error {
	s.Description = f.Tag.Get("desc")
	value := s
	if s.Items != nil {
		value = s.Items
	}
	for _, rule := range []struct {
		name  string
		apply func(text string) error
	}{
		{"enum", value.setEnum},
		{"min", func(text string) error { return value.setBound(&value.Minimum, text) }},
		{"max", func(text string) error { return value.setBound(&value.Maximum, text) }},
		{"minlen", func(text string) error { return s.setLength(&s.MinLength, &s.MinItems, text) }},
		{"maxlen", func(text string) error { return s.setLength(&s.MaxLength, &s.MaxItems, text) }},
		{"pattern", value.setPattern},
		{"default", func(text string) error { return s.setDefault(text, f, input, apart) }},
	} {
		text, ok := f.Tag.Lookup(rule.name)
		if !ok {
			continue
		}
		if err := rule.apply(text); err != nil {
			return errors.New("tag " + rule.name + ":" + quote(text) + ": " + err.Error())
		}
	}
	return nil
}

func (s *schema) setEnum(text string) error {
	for _, item := range strings.Split(text, ",") {
		v, err := s.literal(item)
		if err != nil {
			return err
		}
		s.Enum = append(s.Enum, v)
	}
	return nil
}

func (s *schema) setBound(bound *numeral, text string) error {
	if s.Type != "integer" && s.Type != "number" {
		return errors.New("the field is not a number")
	}
	if _, err := s.literal(text); err != nil {
		return err
	}
	*bound = numeral(text)
	return nil
}

func (s *schema) setLength(ofText, ofList **int, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("not a length")
	}
	switch s.Type {
	case "string":
		*ofText = &n
	case "array":
		*ofList = &n
	default:
		return errors.New("the field is neither text nor a list")
	}
	return nil
}

// A pattern is compiled where the manifest is checked; to do it here would
// put a regular expression engine into every guest.
func (s *schema) setPattern(text string) error {
	if s.Type != "string" {
		return errors.New("the field is not text")
	}
	s.Pattern = text
	return nil
}

func (s *schema) setDefault(text string, f reflect.StructField, input, apart bool) error {
	switch {
	case !input:
		return nil // a type may serve both ways; a result needs no default
	case !omits(f):
		return errors.New("a field with a default is optional: add omitempty to its json tag")
	case apart:
		return errors.New("it has no effect behind a pointer or in a list or a map")
	}
	v, err := s.literal(text)
	s.Default = v
	return err
}

// literal reads the text of a tag as a value of the schema's type.
func (s *schema) literal(text string) (any, error) {
	switch s.Type {
	case "string":
		return text, nil
	case "boolean":
		return strconv.ParseBool(text)
	case "integer":
		_, err := strconv.ParseInt(text, 10, 64)
		return numeral(text), err
	case "number":
		if !wire.Valid([]byte(text)) {
			return nil, errors.New("not a number")
		}
		_, err := strconv.ParseFloat(text, 64)
		return numeral(text), err
	}
	return nil, errors.New("the field is not a single value")
}

// fillDefaults sets the fields of a struct, and of the structs inside it, to
// their default tags. Handlers start from it, so what a caller leaves out has
// its default.
func fillDefaults(v reflect.Value) error {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if hidden(f) {
			continue
		}
		text, ok := f.Tag.Lookup("default")
		if !ok {
			if err := fillDefaults(v.Field(i)); err != nil {
				return err
			}
			continue
		}
		if err := setText(v.Field(i), text); err != nil {
			return errors.New("field " + f.Name + ": default " + quote(text) + ": " + err.Error())
		}
	}
	return nil
}

func setText(v reflect.Value, text string) error {
	if v.Kind() == reflect.String {
		v.SetString(text)
		return nil
	}
	if scalar(v.Kind()) == "" {
		return errors.New("the field is not a single value")
	}
	return wire.Unmarshal([]byte(text), value.Interface(v.Addr()))
}
