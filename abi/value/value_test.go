package value

import (
	"math/big"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"
)

type one struct{ P *int }

type named string

func (n named) String() string { return string(n) }

// TestTheGuestsWayIsThatOfPackageReflect runs natively what only guests use,
// over types of every kind, in every place that a value can have.
func TestTheGuestsWayIsThatOfPackageReflect(t *testing.T) {
	n := 7
	var stringer interface{ String() string } = named("x")
	for _, x := range []any{
		true, 1, int8(2), uint64(3), 1.5, float32(2.5), "text", named("n"), []byte("b"), []string{"a", "b"}, [3]int{1, 2, 3}, [1]*int{&n}, [0]int{},
		one{&n}, struct{}{}, struct{ one }{one{&n}}, struct{ A, B any }{1, "b"}, &n, &stringer, (*int)(nil), map[string]int{"a": 1}, map[int]one(nil),
		func() {}, make(chan int), complex(1, 2), time.Unix(1, 2), *big.NewInt(5), [200]int{1}, &struct{ I any }{nil},
	} {
		v := reflect.ValueOf(x)
		held := reflect.New(v.Type()).Elem()
		set(held, v)
		inStruct := reflect.ValueOf(struct{ X any }{x}).Field(0)
		for place, got := range map[string]any{
			"apart": interfaceOf(v), "in a variable": interfaceOf(held), "in an interface": interfaceOf(inStruct),
		} {
			if reflect.TypeOf(got) != v.Type() || v.Kind() != reflect.Func && !reflect.DeepEqual(got, x) {
				t.Errorf("%T %s: got %#v, want %#v", x, place, got, x)
			}
		}
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() && !reflect.DeepEqual(interfaceOf(v.Field(i)), v.Field(i).Interface()) {
					t.Errorf("%T: field %d differs", x, i)
				}
			}
		}
	}
}

// TestJSONAndMessagesAreTheSameInTheGuestsWay runs the tests of those packages,
// with the seeds and the corpus of their fuzz targets, as they are in a guest.
func TestJSONAndMessagesAreTheSameInTheGuestsWay(t *testing.T) {
	cmd := exec.Command("go", "test", "-tags", "sluice_guest", "../wire", "../wording")
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestEntriesOfMapsAreSet(t *testing.T) {
	n := 7
	for _, entry := range []struct{ m, key, item any }{
		{map[string]int{}, "a", 1}, {map[named]*int{}, named("a"), &n}, {map[int8]one{}, int8(1), one{&n}}, {map[[2]string][]byte{}, [2]string{"a", "b"}, []byte("x")},
		{map[*int]string{}, &n, "x"}, {map[string][200]int{}, "a", [200]int{5}}, {map[string]struct{}{}, "a", struct{}{}},
	} {
		m := reflect.ValueOf(entry.m)
		for range 2 { // made, then replaced
			setMapIndex(m, reflect.ValueOf(entry.key), reflect.ValueOf(entry.item))
		}
		if got := m.MapIndex(reflect.ValueOf(entry.key)); m.Len() != 1 || !reflect.DeepEqual(got.Interface(), entry.item) {
			t.Errorf("%T holds %v, want %v", entry.m, got, entry.item)
		}
	}
}

func TestAnInterfaceIsSet(t *testing.T) {
	var target any = "before"
	setAny(reflect.ValueOf(&target).Elem(), []int{1})
	if !reflect.DeepEqual(target, []int{1}) {
		t.Errorf("it holds %v", target)
	}
}

func TestWhatIsSetIsACopy(t *testing.T) {
	from, to := [3]int{1, 2, 3}, [3]int{}
	set(reflect.ValueOf(&to).Elem(), reflect.ValueOf(&from).Elem())
	if from[0] = 9; to != [3]int{1, 2, 3} {
		t.Errorf("it holds %v", to)
	}
}
