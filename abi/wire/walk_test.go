package wire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/abi/wire"
)

func TestMembersAreThoseThatEncodingJSONReads(t *testing.T) {
	for _, text := range hostile() {
		if !json.Valid([]byte(text)) {
			continue
		}
		var want map[string]json.RawMessage
		isObject := json.Unmarshal([]byte(text), &want) == nil && want != nil
		if got := wire.KindOf([]byte(text)) == wire.Object; got != isObject {
			t.Errorf("%.100q is an object: %v, want %v", text, got, isObject)
		}
		got := map[string]json.RawMessage{}
		for name, value := range wire.Members([]byte(text)) {
			got[string(name)] = value
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%.100q has %q, want %q", text, got, want)
		}
		var read string
		if json.Unmarshal([]byte(text), &read) == nil && wire.TextOf([]byte(text)) != read {
			t.Errorf("%q reads as %q, want %q", text, wire.TextOf([]byte(text)), read)
		}
	}
}

func TestMembersEndWhenTheReaderDoes(t *testing.T) {
	n := 0
	for range wire.Members([]byte(`{"a":1,"b":2,"c":3}`)) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d members", n)
	}
}

func TestANameMeansTheFieldThatEncodingJSONTakesItFor(t *testing.T) {
	for _, field := range []string{"key", "state", "abi"} {
		for _, name := range []string{"key", "KEY", "Key", "\u212aey", "ke", "keyy", "", "state", "\u017ftate", "s\u0165ate", "abi", "aBI", "ab\u0131", "k\xff"} {
			typ := reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(`json:"` + field + `"`)}})
			v := reflect.New(typ)
			if err := json.Unmarshal([]byte(`{"`+name+`":1}`), v.Interface()); err != nil {
				t.Fatal(err)
			}
			if got, want := wire.Named([]byte(name), field), v.Elem().Field(0).Int() == 1; got != want {
				t.Errorf("%q means %q: %v, want %v", name, field, got, want)
			}
		}
	}
}

func TestPlansMayBeMadeByManyAtOnce(t *testing.T) {
	type a struct {
		B []struct{ C map[string]*struct{ D int } }
		E *a
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var v a
			if err := wire.Unmarshal([]byte(`{"b":[{"c":{"x":{"d":1}}}],"e":{}}`), &v); err != nil || v.B[0].C["x"].D != 1 || v.E == nil {
				t.Errorf("%+v, %v", v, err)
			}
			wire.Prepare(reflect.TypeFor[map[string]a]())
		})
	}
	wg.Wait()
}

func TestItReadsOnlyIntoPointers(t *testing.T) {
	for _, into := range []any{nil, 1, (*int)(nil), map[string]int{}} {
		if wire.Unmarshal([]byte(`1`), into) == nil {
			t.Errorf("read into a %T", into)
		}
	}
}

func TestWhatIsNotJSONChangesNothing(t *testing.T) {
	p := product{SKU: "1001"}
	for _, text := range []string{`{"sku":"1002"`, `{"sku":"1002"}}`, `{"sku":"1002","title":"` + "\n" + `"}`, strings.Repeat("[", 100_000)} {
		if err := wire.Unmarshal([]byte(text), &p); err != wire.ErrSyntax || p.SKU != "1001" {
			t.Errorf("%.50q: %v, %+v", text, err, p)
		}
	}
}
