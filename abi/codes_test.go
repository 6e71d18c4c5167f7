package abi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/sluicehq/sluice/abi"
)

// constants gives the constants of a type that a file of this package
// declares, by name, with their values as written.
func constants(t *testing.T, file, typ string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		named, ok := spec.Type.(*ast.Ident)
		if (typ == "") != (spec.Type == nil) || typ != "" && (!ok || named.Name != typ) {
			return true
		}
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				if value, ok := spec.Values[i].(*ast.BasicLit); ok {
					found[name.Name] = value.Value
				}
			}
		}
		return true
	})
	return found
}

func TestEveryCodeHasExactlyOneRow(t *testing.T) {
	rows := map[abi.Code]int{}
	for _, r := range abi.Codes() {
		rows[r.Code]++
	}
	declared := constants(t, "code.go", "Code")
	if len(declared) < 50 {
		t.Fatalf("code.go declares %d codes; the test reads it wrongly", len(declared))
	}
	for name, value := range declared {
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		if rows[abi.Code(n)] != 1 {
			t.Errorf("%s (%d) has %d rows", name, n, rows[abi.Code(n)])
		}
		delete(rows, abi.Code(n))
	}
	for code := range rows {
		t.Errorf("the row of %d has no constant", code)
	}
}

func TestRowsAreSortedWholeAndOfTheirClass(t *testing.T) {
	names := map[string]bool{}
	last := abi.Code(0)
	for _, r := range abi.Codes() {
		if r.Code <= last {
			t.Errorf("%d comes after %d", r.Code, last)
		}
		last = r.Code
		if r.Name == "" || names[r.Name] {
			t.Errorf("%d: the name %q is empty or taken", r.Code, r.Name)
		}
		names[r.Name] = true
		if r.Meaning == "" || r.UserEN == "" || r.UserZH == "" {
			t.Errorf("%d lacks a text: %+v", r.Code, r)
		}
		ofModel := []abi.Code{abi.ModelUnavailable, abi.ModelInterrupted, abi.ModelUnauthorised, abi.ModelRejected}
		if (r.Model == "") != slices.Contains(ofModel, r.Code) {
			t.Errorf("%d: the model is told %q", r.Code, r.Model)
		}
		if !strings.ContainsFunc(r.UserZH, func(c rune) bool { return unicode.Is(unicode.Han, c) }) || strings.ContainsFunc(r.UserEN, func(c rune) bool { return c > unicode.MaxASCII }) {
			t.Errorf("%d: the languages are mixed up: %q, %q", r.Code, r.UserEN, r.UserZH)
		}
		if !slices.Contains(recoveries(r.Code), r.Recovery) {
			t.Errorf("%d: %v is not a recovery of its class", r.Code, r.Recovery)
		}
	}
}

// recoveries gives what the contract lets the host do about a code.
func recoveries(c abi.Code) []abi.Recovery {
	switch c.Class() {
	case abi.ClassVerdict:
		if c == abi.PendingApproval {
			return []abi.Recovery{abi.Wait}
		}
		return []abi.Recovery{abi.TellModel, abi.Stop}
	case abi.ClassBusiness:
		return []abi.Recovery{abi.TellModel}
	case abi.ClassArguments:
		return []abi.Recovery{abi.Repair, abi.TellModel}
	case abi.ClassSystem:
		if c == abi.ModelUnauthorised || c == abi.ModelRejected {
			return []abi.Recovery{abi.Stop}
		}
		return []abi.Recovery{abi.Retry}
	}
	return []abi.Recovery{abi.Stop}
}

func TestTheTableIsTheOneInTheVectors(t *testing.T) {
	type row struct {
		Code     abi.Code  `json:"code"`
		Name     string    `json:"name"`
		Class    abi.Class `json:"class"`
		Recovery string    `json:"recovery"`
		OfSkill  bool      `json:"of_skill"`
	}
	var got []row
	for _, r := range abi.Codes() {
		got = append(got, row{r.Code, r.Name, r.Code.Class(), r.Recovery.String(), r.Code.OfSkill()})
	}
	want := vectors[[]row](t, "codes.json")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("row %d differs; the table has %+v, the vectors have %+v", i, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
		}
	}
}

func TestRowOfFindsARowForEveryCode(t *testing.T) {
	for _, tt := range []struct{ code, want abi.Code }{
		{abi.NotFound, abi.NotFound}, {abi.HostBug, abi.HostBug},
		{3100, abi.SkillRefused}, {3101, abi.SkillRefused}, {3999, abi.SkillRefused},
		{3099, abi.Broken}, {4999, abi.Broken}, {0, abi.Broken}, {-1, abi.Broken}, {12345, abi.Broken}, {2000, abi.Broken},
	} {
		if got := abi.RowOf(tt.code).Code; got != tt.want {
			t.Errorf("%d has the row of %d, want %d", tt.code, got, tt.want)
		}
	}
}

func TestUsersReadTheirLanguage(t *testing.T) {
	r := abi.RowOf(abi.NotFound)
	for locale, want := range map[string]string{"zh": r.UserZH, "zh-CN": r.UserZH, "ZH-Hant": r.UserZH, "en-GB": r.UserEN, "": r.UserEN, "fr": r.UserEN} {
		if got := r.User(locale); got != want {
			t.Errorf("%q: got %q", locale, got)
		}
	}
}

func TestUnknownCodesAreBrokenAndNeverRetried(t *testing.T) {
	for _, tt := range []struct {
		code abi.Code
		want abi.Class
	}{
		{abi.PendingApproval, abi.ClassVerdict}, {3999, abi.ClassBusiness}, {4000, abi.ClassArguments}, {5999, abi.ClassSystem}, {9000, abi.ClassBroken},
		{0, abi.ClassBroken}, {-3000, abi.ClassBroken}, {2999, abi.ClassBroken}, {6000, abi.ClassBroken}, {10000, abi.ClassBroken},
	} {
		if got := tt.code.Class(); got != tt.want {
			t.Errorf("%d is of class %d, want %d", tt.code, got, tt.want)
		}
	}
}

func TestASkillAnswersOnlyWithItsOwnCodes(t *testing.T) {
	for code, want := range map[abi.Code]bool{
		abi.PendingApproval: false, abi.RedLine: false, abi.Cancelled: false,
		abi.Refused: true, abi.SkillRefused: true, 3999: true, abi.BadArguments: true, abi.UnknownField: true,
		abi.SystemFailure: true, abi.Deadline: true, abi.Unavailable: true, abi.StoreConflict: false, abi.ModelRejected: false,
		abi.Trap: true, abi.Broken: false, abi.HostBug: false, 0: false, 12345: false,
	} {
		if got := code.OfSkill(); got != want {
			t.Errorf("%d: got %v", code, got)
		}
	}
}

func TestTiersAreOrdered(t *testing.T) {
	order := []abi.Tier{abi.Auto, abi.SoftGate, abi.HardGate, abi.Block}
	for i, a := range order {
		if a.Rank() != i {
			t.Errorf("%s ranks %d", a, a.Rank())
		}
		for j, b := range order {
			if got := a.Stricter(b); got != order[max(i, j)] {
				t.Errorf("the stricter of %s and %s is %s", a, b, got)
			}
		}
	}
	if got := abi.Auto.Stricter("hard_gate"); got.Rank() != abi.Block.Rank() {
		t.Errorf("a tier that is none ranks as %d", got.Rank())
	}
}

func TestStateIsGrantedByKeyAndPattern(t *testing.T) {
	access := &abi.StateAccess{Reads: []string{"live.*", "cart"}, Writes: []string{"live.current"}}
	for key, want := range map[string][2]bool{
		"live.current": {true, true}, "live.products": {true, false}, "live.a.b": {true, false}, "cart": {true, false},
		"live": {false, false}, "lives.x": {false, false}, "carts": {false, false}, "cart.x": {false, false}, "": {false, false},
	} {
		if got := [2]bool{access.MayRead(key), access.MayWrite(key)}; got != want {
			t.Errorf("%q: got %v, want %v", key, got, want)
		}
	}
	var none *abi.StateAccess
	if none.MayRead("live.x") || none.MayWrite("live.x") {
		t.Error("no access grants something")
	}
	if (&abi.StateAccess{Reads: []string{"*"}}).MayRead("x") {
		t.Error("a bare star grants everything")
	}
}

func TestEveryHostFunctionIsInTheTable(t *testing.T) {
	table := abi.HostFuncs()
	declared := map[string]bool{}
	for name, value := range constants(t, "hostcall.go", "") {
		function, err := strconv.Unquote(value)
		if err != nil {
			t.Fatal(err)
		}
		declared[function] = true
		if _, ok := table[function]; !ok || !strings.HasPrefix(name, "Func") || !strings.HasPrefix(function, "sluice_") {
			t.Errorf("%s (%s) is not in the table", name, function)
		}
	}
	for function, parameters := range vectors[map[string]int](t, "hostfuncs.json") {
		if table[function] != parameters {
			t.Errorf("%s has %d parameters, the vectors say %d", function, table[function], parameters)
		}
		delete(declared, function)
		delete(table, function)
	}
	if len(table) > 0 || len(declared) > 0 {
		t.Errorf("the vectors lack %v %v", table, declared)
	}
}

func TestNearNamesAreFoundNearestFirst(t *testing.T) {
	known := []string{"set_price", "get_price", "quote", "setPrice2", "issue_coupon"}
	for _, tt := range []struct {
		name string
		most int
		want []string
	}{
		{"set_prise", 5, []string{"set_price", "get_price", "setPrice2"}},
		{"set_prise", 1, []string{"set_price"}},
		{"SET_PRICE", 1, []string{"set_price"}},
		{"coupon", 5, []string{"issue_coupon"}},
		{"weather", 5, []string{}}, {"", 5, []string{}},
	} {
		if got := abi.Nearest(tt.name, known, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"price", "prise", 1}, {"pirce", "price", 1}, {"kitten", "sitting", 3}, {"价格", "价钱", 1}, {"ca", "abc", 3},
		{strings.Repeat("x", 200), strings.Repeat("x", 200), 0}, {strings.Repeat("x", 200), "x", 200},
	} {
		if got := abi.EditDistance(tt.a, tt.b); got != tt.want || abi.EditDistance(tt.b, tt.a) != tt.want {
			t.Errorf("%.20q and %.20q are %d apart, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
