package manifest

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sluicehq/sluice/abi"
)

// fits reports whether n fits s. about is what the schemas around s say of the
// same value.
func (f *fitter) fits(s *jsonschema.Schema, n *node, at *spot, about string) bool {
	about = aboutOf(s, about)
	if s.Always != nil {
		return *s.Always || f.fail(at, notAField)
	}
	if len(s.Types) > 0 && !ofTypes(n, s.Types) {
		return f.fail(at, func() *abi.Problem { return misfit(abi.WrongType, s, n, about) })
	}
	ok := f.constants(s, n, at, about)
	switch {
	case !ok && f.done():
		return false
	case n.kind == object:
		ok = f.object(s, n, at, about) && ok
	case n.kind == list:
		ok = f.list(s, n, at, about) && ok
	case n.kind == text && !textFits(s, n.text), n.kind == number && !numberFits(s, n.text):
		ok = f.fail(at, func() *abi.Problem { return misfit(abi.BadValue, s, n, about) })
	}
	if !ok && f.done() {
		return false
	}
	return f.applied(s, n, at, about) && ok
}

func ofTypes(n *node, names []string) bool {
	for _, name := range names {
		if n.kind.isA(name) || name == "integer" && n.kind == number && isWhole(n.text) {
			return true
		}
	}
	return false
}

// isA reports whether values of the kind are of a type of JSON Schema.
func (k kind) isA(name string) bool {
	switch k {
	case boolean:
		return name == "boolean"
	case number:
		return name == "number"
	case text:
		return name == "string"
	case list:
		return name == "array"
	case object:
		return name == "object"
	}
	return name == "null"
}

// isWhole reports whether a number has no fraction: 2, 2.0 and 2e3 have none.
func isWhole(number string) bool { return !strings.ContainsAny(number, ".eE") || rat(number).IsInt() }

// rat gives a number that readJSON or readYAML took, exactly.
func rat(number string) *big.Rat {
	if whole, small := smallWhole(number); small {
		return new(big.Rat).SetInt64(whole)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		panic("BUG: a number that is none was read: " + number)
	}
	return r
}

// smallWhole gives a number that is whole and has few digits, as most have.
func smallWhole(number string) (int64, bool) {
	if len(number) > plainDigits {
		return 0, false
	}
	whole, err := strconv.ParseInt(number, 10, 64)
	return whole, err == nil
}

func (f *fitter) constants(s *jsonschema.Schema, n *node, at *spot, about string) bool {
	if len(s.Constant) > 0 && !equal(n, s.Constant[0]) {
		return f.fail(at, func() *abi.Problem { return notAmong(s, n, about) })
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(v any) bool { return equal(n, v) }) {
		return f.fail(at, func() *abi.Problem { return notAmong(s, n, about) })
	}
	if format := jsonschema.Formats[s.Format]; format != nil && n.kind == text && !format(n.text) {
		return f.fail(at, func() *abi.Problem { return misfit(abi.BadValue, s, n, about) })
	}
	return true
}

// equal compares a value with one of a schema, numbers by value.
func equal(n *node, v any) bool {
	switch v := v.(type) {
	case nil:
		return n.kind == null
	case bool:
		return n.kind == boolean && v == (n.text == "true")
	case string:
		return n.kind == text && v == n.text
	case json.Number:
		return n.kind == number && (v.String() == n.text || rat(v.String()).Cmp(rat(n.text)) == 0)
	case []any:
		if n.kind != list || len(v) != len(n.items) {
			return false
		}
		for i := range v {
			if !equal(n.items[i], v[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		if n.kind != object || len(v) != len(n.members) {
			return false
		}
		for _, m := range n.members {
			if want, ok := v[m.name]; !ok || !equal(m.value, want) {
				return false
			}
		}
		return true
	}
	return false
}

func textFits(s *jsonschema.Schema, value string) bool {
	if s.MinLength >= 0 || s.MaxLength >= 0 {
		length := utf8.RuneCountInString(value)
		if length < s.MinLength || s.MaxLength >= 0 && length > s.MaxLength {
			return false
		}
	}
	return s.Pattern == nil || s.Pattern.MatchString(value)
}

func numberFits(s *jsonschema.Schema, value string) bool {
	if s.Minimum == nil && s.ExclusiveMinimum == nil && s.Maximum == nil && s.ExclusiveMaximum == nil && s.MultipleOf == nil {
		return true
	}
	switch {
	case s.Minimum != nil && compare(value, s.Minimum) < 0,
		s.ExclusiveMinimum != nil && compare(value, s.ExclusiveMinimum) <= 0,
		s.Maximum != nil && compare(value, s.Maximum) > 0,
		s.ExclusiveMaximum != nil && compare(value, s.ExclusiveMaximum) >= 0:
		return false
	}
	return s.MultipleOf == nil || new(big.Rat).Quo(rat(value), s.MultipleOf).IsInt()
}

// compare gives how a number stands to a bound, exactly. Nearly all are whole
// and small, and need no fractions for that.
func compare(value string, bound *big.Rat) int {
	whole, small := smallWhole(value)
	if small && bound.IsInt() && bound.Num().IsInt64() {
		return cmp.Compare(whole, bound.Num().Int64())
	}
	return rat(value).Cmp(bound)
}

func (f *fitter) object(s *jsonschema.Schema, n *node, at *spot, about string) bool {
	ok := true
	if size := len(n.members); size < s.MinProperties || s.MaxProperties >= 0 && size > s.MaxProperties {
		ok = f.fail(at, func() *abi.Problem { return misfit(abi.BadValue, s, n, about) })
	}
	for _, name := range s.Required {
		if n.get(name) == nil {
			ok = f.fail(at.member(member{name: name, line: at.line}), func() *abi.Problem { return missing(s.Properties[name]) })
		}
	}
	for on, names := range s.DependentRequired {
		for _, name := range names {
			if n.get(on) != nil && n.get(name) == nil {
				ok = f.fail(at.member(member{name: name, line: at.line}), func() *abi.Problem { return missing(s.Properties[name]) })
			}
		}
	}
	for i := range n.members {
		if !ok && f.done() {
			return false
		}
		ok = f.member(s, n.members[i], at) && ok
	}
	return ok
}

// member holds one member against all that an object's schema says of it.
func (f *fitter) member(s *jsonschema.Schema, m member, at *spot) bool {
	ok, named := true, false
	here := f.toMember(at, m)
	if s.PropertyNames != nil {
		ok = f.fits(s.PropertyNames, &node{kind: text, text: m.name, line: m.line}, here, "")
	}
	if to := s.Properties[m.name]; to != nil {
		named = true
		ok = f.fits(to, m.value, here, "") && ok
	}
	for pattern, to := range s.PatternProperties {
		if pattern.MatchString(m.name) {
			named = true
			ok = f.fits(to, m.value, here, "") && ok
		}
	}
	if named {
		return ok
	}
	switch others := s.AdditionalProperties.(type) {
	case bool:
		if !others {
			return f.fail(here, func() *abi.Problem { return unknown(s, m.name) })
		}
	case *jsonschema.Schema:
		return f.fits(others, m.value, here, "") && ok
	}
	return ok
}

func (f *fitter) list(s *jsonschema.Schema, n *node, at *spot, about string) bool {
	ok := true
	if size := len(n.items); size < s.MinItems || s.MaxItems >= 0 && size > s.MaxItems {
		ok = f.fail(at, func() *abi.Problem { return misfit(abi.BadValue, s, n, about) })
	}
	if s.UniqueItems && hasTwins(n.items) {
		ok = f.fail(at, func() *abi.Problem { return abi.NewProblem(abi.BadValue, "must not hold the same item twice") })
	}
	if s.Contains != nil && !contains(s, n.items) {
		ok = f.fail(at, func() *abi.Problem { return wrongCount(s) })
	}
	for i, item := range n.items {
		if !ok && f.done() {
			return false
		}
		switch {
		case i < len(s.PrefixItems):
			ok = f.fits(s.PrefixItems[i], item, f.toItem(at, i, item), "") && ok
		case s.Items2020 != nil:
			ok = f.fits(s.Items2020, item, f.toItem(at, i, item), "") && ok
		}
	}
	return ok
}

func contains(s *jsonschema.Schema, items []*node) bool {
	count := 0
	for _, item := range items {
		if quietly(s.Contains, item) {
			count++
		}
	}
	return count >= s.MinContains && (s.MaxContains < 0 || count <= s.MaxContains)
}

// hasTwins reports whether two items have the same value.
func hasTwins(items []*node) bool {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		key := string(item.appendKey(nil))
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// appendKey appends a text that equal values, and only they, share.
func (n *node) appendKey(b []byte) []byte {
	switch n.kind {
	case number:
		return append(b, rat(n.text).RatString()...)
	case list:
		b = append(b, '[')
		for _, item := range n.items {
			b = append(item.appendKey(b), ',')
		}
		return append(b, ']')
	case object:
		sorted := slices.SortedFunc(slices.Values(n.members), func(x, y member) int { return strings.Compare(x.name, y.name) })
		b = append(b, '{')
		for _, m := range sorted {
			b = append(m.value.appendKey(append(appendText(b, m.name), ':')), ',')
		}
		return append(b, '}')
	}
	return n.appendJSON(b)
}

// applied holds n against the schemas that s applies to the same value.
func (f *fitter) applied(s *jsonschema.Schema, n *node, at *spot, about string) bool {
	ok := s.Ref == nil || f.fits(s.Ref, n, at, about)
	for _, to := range s.AllOf {
		if !ok && f.done() {
			return false
		}
		ok = f.fits(to, n, at, about) && ok
	}
	for on, to := range s.DependentSchemas {
		if n.kind == object && n.get(on) != nil {
			ok = f.fits(to, n, at, about) && ok
		}
	}
	if s.If != nil {
		branch := s.Else
		if quietly(s.If, n) {
			branch = s.Then
		}
		ok = (branch == nil || f.fits(branch, n, at, about)) && ok
	}
	if s.Not != nil && quietly(s.Not, n) {
		ok = f.fail(at, func() *abi.Problem { return misfit(abi.BadValue, s, n, about) })
	}
	if !ok && f.done() {
		return false
	}
	return f.forms(s, n, at, about) && ok
}

// forms holds n against anyOf and oneOf.
func (f *fitter) forms(s *jsonschema.Schema, n *node, at *spot, about string) bool {
	ok := true
	if len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, func(to *jsonschema.Schema) bool { return quietly(to, n) }) {
		ok = f.noForm(s, s.AnyOf, n, at, about)
	}
	if len(s.OneOf) > 0 {
		fitting := 0
		for _, to := range s.OneOf {
			if fitting < 2 && quietly(to, n) {
				fitting++
			}
		}
		switch fitting {
		case 0:
			ok = f.noForm(s, s.OneOf, n, at, about)
		case 2:
			ok = f.fail(at, func() *abi.Problem {
				return abi.NewProblem(abi.BadValue, "fits several forms, and only one may be meant").WithHint("%s", about)
			})
		}
	}
	return ok
}

// noForm tells of a value that fits none of several forms.
func (f *fitter) noForm(s *jsonschema.Schema, forms []*jsonschema.Schema, n *node, at *spot, about string) bool {
	if f.done() || f.nearestForm(forms, n, at, about) {
		return false
	}
	return f.fail(at, func() *abi.Problem { return misfit(abi.WrongType, s, n, about) })
}
