package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"time"
)

// The types that both codecs are held against each other over.

type scalars struct {
	B    bool    `json:"b"`
	I    int     `json:"i"`
	I8   int8    `json:"i8"`
	I16  int16   `json:"i16,omitempty"`
	I32  int32   `json:"i32"`
	I64  int64   `json:"i64,omitzero"`
	U    uint    `json:"u"`
	U8   uint8   `json:"u8"`
	U64  uint64  `json:"u64"`
	Up   uintptr `json:"up,omitempty"`
	F32  float32 `json:"f32"`
	F64  float64 `json:"f64"`
	S    string  `json:"s"`
	Skip string  `json:"-"`
	Dash string  `json:"-,"`
	priv int
}

type quoted struct {
	B  bool          `json:"b,string"`
	I  int64         `json:"i,string,omitempty"`
	U  uint8         `json:"u,string"`
	F  float64       `json:"f,string"`
	S  string        `json:"s,string"`
	P  *int          `json:"p,string"`
	N  json.Number   `json:"n,string"`
	L  []int         `json:"l,string"`
	A  any           `json:"a,string"`
	D  duration      `json:"d,string"`
	T  word          `json:"t,string"`
	PS *string       `json:"ps,omitempty,string"`
	TS time.Duration `json:"ts,string"`
}

type optional struct {
	S  string                     `json:"s,omitempty"`
	P  *float64                   `json:"p,omitempty"`
	L  []string                   `json:"l,omitempty"`
	M  map[string]int             `json:"m,omitempty"`
	A  [2]int                     `json:"a,omitempty"`
	E  [0]int                     `json:"e,omitempty"`
	I  any                        `json:"i,omitempty"`
	St struct{ X int }            `json:"st,omitempty"`
	T  time.Time                  `json:"t,omitzero"`
	TP *time.Time                 `json:"tp,omitzero"`
	Z  zeroByValue                `json:"z,omitzero"`
	ZP zeroByPointer              `json:"zp,omitzero"`
	ZI interface{ IsZero() bool } `json:"zi,omitzero"`
	O  inner                      `json:"o,omitzero"`
	PP **int                      `json:"pp,omitempty"`
}

type zeroByValue int

func (z zeroByValue) IsZero() bool { return z == 7 }

type zeroByPointer struct{ N int }

func (z *zeroByPointer) IsZero() bool { return z.N == 7 }

type inner struct {
	Name string `json:"name"`
	Size uint8  `json:"size"`
}

// Members that differ in case, in any script, and odd names.
type names struct {
	Name   string
	NAME   string `json:"NAME"`
	Kelvin int    `json:"K"` // the Kelvin sign folds into it
	Long   int    `json:"ſ"` // folds into S
	Umlaut string `json:"Ä"`
	Odd    int    `json:"a.b-c/d"`
	Bad    int    `json:"a\"b"`
	Space  int    `json:" x y "`
	Empty  int    `json:",omitempty"`
	Chin   int    `json:"价格"`
}

type base struct {
	A  int `json:"a"`
	B  int
	In inner `json:"in"`
}
type Exported struct {
	B int
	C int `json:"c"`
}
type deep struct{ *Exported }
type unexportedPointer struct {
	*base
	Own int
}
type embedding struct {
	base
	*Exported
	C    string
	Deep deep `json:"deep"`
}
type twice struct {
	base
	Other
	*Untagged
}
type Other struct {
	X int `json:"B"` // a tag wins over a name
	D int
}
type Untagged struct{ B, C int }
type diamondLeft struct{ Untagged }
type diamondRight struct{ Untagged }
type diamond struct {
	diamondLeft
	diamondRight
	X int
}
type taggedEmbedded struct {
	base     `json:"base"`
	Exported `json:"exported"`
	Text
}
type Text string
type recursive struct {
	V    int        `json:"v"`
	Next *recursive `json:"next,omitempty"`
	All  []recursive
	By   map[string]*recursive
}

// duration reads and writes itself as JSON, by the value and by the pointer.
type duration time.Duration

func (d duration) MarshalJSON() ([]byte, error) {
	if d < 0 {
		return nil, errors.New("negative")
	}
	return []byte(` { "ns" : [ ` + fmt.Sprint(int64(d)) + " , \"<a b>\" ] } "), nil
}

func (d *duration) UnmarshalJSON(b []byte) error {
	var n int64
	err := json.Unmarshal(b, &n)
	*d = duration(n)
	return err
}

// word reads and writes itself as text.
type word struct{ s string }

func (w word) MarshalText() ([]byte, error) {
	if w.s == "bad" {
		return nil, errors.New("a bad word")
	}
	return []byte(w.s + "<"), nil
}

func (w *word) UnmarshalText(b []byte) error {
	if string(b) == "bad" {
		return errors.New("a bad word")
	}
	w.s = string(b)
	return nil
}

// byPointer writes itself only where its address can be taken.
type byPointer struct{ N int }

func (p *byPointer) MarshalJSON() ([]byte, error) { return []byte(`"by pointer"`), nil }

type textByPointer struct{ N int }

func (p *textByPointer) MarshalText() ([]byte, error) { return []byte("text by pointer"), nil }

type notJSON struct{}

func (notJSON) MarshalJSON() ([]byte, error) { return []byte(`{"a":1}}`), nil }

type own struct {
	D   duration
	DP  *duration
	W   word
	WP  *word
	P   byPointer
	PP  *byPointer
	T   textByPointer
	M   map[string]byPointer
	L   []byPointer
	A   any
	Tm  time.Time
	Raw json.RawMessage
	RP  *json.RawMessage
	RO  json.RawMessage `json:",omitempty"`
	Big *big.Int
	IP  netip.Addr
	N   json.Number
	NP  *json.Number
}

type intKey int
type stringKey string
type bytesOf uint8

func (b bytesOf) MarshalText() ([]byte, error) { return []byte{'0' + byte(b)%10}, nil }

type maps struct {
	Any  map[string]any
	Str  map[string]string
	Int  map[int]string
	I8   map[int8]int
	U8   map[uint8]int
	Key  map[intKey]bool
	SKey map[stringKey]inner
	Word map[word]int
	WP   map[*word]int `json:"-"`
	Raw  map[string]json.RawMessage
	List map[string][]int
	Ptr  map[string]*inner
	Bool map[bool]int `json:"Bool,omitempty"`
	Mm   map[string]map[string]int
}

type lists struct {
	B   []byte
	BB  [][]byte
	BA  [3]byte
	BO  []bytesOf
	I   []int
	S   []string
	F   []float64
	St  []inner
	P   []*inner
	Any []any
	Arr [2]inner
	LL  [][]int
	Nil []int
	Raw []json.RawMessage
	E   []struct{}
}

type interfaces struct {
	Any    any
	Str    fmt.Stringer
	Filled any
	Ptr    *any
	Err    error
}

type many struct {
	F01, F02, F03, F04, F05, F06, F07, F08, F09, F10, F11, F12 int
	F13, F14, F15, F16, F17, F18, F19, F20, F21, F22, F23, F24 string
}

// A product is what the skills of a shop read and write.
type product struct {
	SKU      string  `json:"sku"`
	Title    string  `json:"title"`
	Price    float64 `json:"price"`
	Floor    float64 `json:"floor,omitempty"`
	Stock    int     `json:"stock"`
	Currency string  `json:"currency"`
}

type unusable struct {
	C chan int `json:"c,omitempty"`
	F func()   `json:"f,omitempty"`
	Z complex128
}

// channel is the same in all targets.
var channel = make(chan int)

// self gives a pointer to what holds that pointer.
func self() any {
	var v any
	v = &v
	return &v
}

// targets gives pointers to a fresh value of every type, empty and filled.
func targets() []any {
	one, f, s := 1, 1.5, "s"
	p := &one
	w, n, raw := word{"w"}, json.Number("1e3"), json.RawMessage(` [ 1 , "a b" ] `)
	d := duration(5)
	var anyValue any = &inner{Name: "kept"}
	now := time.Date(2026, 1, 15, 12, 0, 0, 5, time.FixedZone("", 3600))
	return []any{
		new(bool), new(int), new(int8), new(uint64), new(float32), new(float64), new(string), new(any), &anyValue, &p,
		new([]int), &[]int{7, 8, 9}, new([]byte), &[]byte{1}, new([3]int), &[3]int{7, 8, 9}, new([]any), new(map[string]any), &map[string]any{"a": 1, "kept": 2}, new(map[string]int),
		new(scalars), &scalars{B: true, I: -1, I8: 2, I16: 3, I32: 4, I64: 5, U: 6, U8: 7, U64: 8, Up: 9, F32: 1.25, F64: 1e-7, S: "<&>\u2028\x00\xff", Dash: "d", priv: 1},
		new(quoted), &quoted{B: true, I: 1, U: 2, F: 1e21, S: "a\"<", P: &one, N: "1.5", L: []int{1}, A: 1, D: 3, T: w, PS: &s, TS: 4},
		new(optional), &optional{S: "a", P: &f, L: []string{"a"}, M: map[string]int{"a": 1}, I: 0, St: struct{ X int }{1}, T: now, TP: &now, Z: 7, ZP: zeroByPointer{7}, ZI: &zeroByPointer{7}, O: inner{Size: 1}, PP: &p},
		new(names), &names{Name: "a", NAME: "b", Bad: 1}, new(embedding), &embedding{Exported: &Exported{B: 1, C: 2}, Deep: deep{&Exported{}}},
		new(unexportedPointer), &unexportedPointer{base: &base{A: 1}}, new(twice), &twice{Other: Other{D: 1}}, new(diamond), new(taggedEmbedded), &taggedEmbedded{Text: "x"},
		new(recursive), &recursive{V: 1, Next: &recursive{V: 2}, All: []recursive{{}}, By: map[string]*recursive{"a": nil, "b": {}}},
		new(own), &own{D: 1, DP: &d, W: w, WP: &w, PP: &byPointer{}, M: map[string]byPointer{"a": {1}}, L: []byPointer{{1}}, A: byPointer{1}, Tm: now, Raw: raw, RP: &raw, RO: raw, Big: big.NewInt(9), IP: netip.MustParseAddr("::1"), N: n, NP: &n},
		new(maps), &maps{Any: map[string]any{"b": 1.5, "a": nil, "<": []any{true}}, Int: map[int]string{-1: "a", 10: "b", 9: "c"}, Key: map[intKey]bool{2: true}, Word: map[word]int{{"w"}: 1}, Raw: map[string]json.RawMessage{"a": raw, "b": nil}, Ptr: map[string]*inner{"a": nil}},
		new(lists), &lists{B: []byte("bytes"), BB: [][]byte{nil, {}}, BO: []bytesOf{1, 2}, I: []int{1, 2, 3}, St: []inner{{"a", 1}, {"b", 2}}, P: []*inner{nil, {"c", 3}}, Any: []any{nil, 1, "a"}, E: []struct{}{{}}},
		new(interfaces), &interfaces{Any: inner{}, Filled: &inner{Name: "kept"}, Ptr: &anyValue, Err: errors.New("e")},
		new(many), new(product), &product{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99, Floor: 69, Stock: 120, Currency: "CNY"}, new(unusable), &unusable{C: channel}, new(notJSON), new(duration), new(word), new(json.RawMessage), new(json.Number), new(time.Time), new(struct{}),
		self(), new(struct{ time.Time }), &struct{ W word }{word{"bad"}}, &struct{ D duration }{-1}, new(map[word]int), &map[word]int{{"bad"}: 1}, new(map[bool]int), &map[bool]int{true: 1},
	}
}

// hostile is JSON, and what is nearly JSON.
func hostile() []string {
	deepest := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	list := []string{
		``, ` `, `null`, ` null `, `true`, `false`, `nul`, `nulll`, `True`, `0`, `-0`, `00`, `-`, `1.`, `.1`, `1e`, `1e+`, `1E+2`, `1.5e-3`, `+1`, `0x1`, `1_0`, `NaN`, `Infinity`,
		`127`, `128`, `-128`, `-129`, `255`, `256`, `1e2`, `1.0`, `9007199254740993`, `9223372036854775807`, `9223372036854775808`, `18446744073709551615`, `18446744073709551616`, `-1`, `3.4e38`, `3.5e38`, `1e308`, `1e309`, `-1e309`, `1e-400`,
		`""`, `"a`, `"`, `"\`, `"\"`, `"\x"`, `"\'"`, `"\u12"`, `"\u123g"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"\u0000"`, `"\/\b\f\n\r\t\\\""`, "\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", "\"\u2028<>&\"", "\"\x01\"", "\"\n\"", "\"\x7f\"", `"保温杯"`,
		`"AQID"`, `"AQI="`, `"AQI"`, `"A Q"`, `"AQ\nID"`, `"!"`, `"2026-01-15T12:00:00Z"`, `"2026-01-15T12:00:00.123456789+08:00"`, `"2026-13-01T00:00:00Z"`, `"soon"`, `"12"`, `"true"`, `"null"`, `"bad"`, `"\"a\""`,
		`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2,3,4,5]`, `[null]`, `["a"]`, `[1`, `]`, `[]]`, `[[1],[2,[3]]]`, `[1.5,"a",null,{"a":1}]`, `[256,"x"]`,
		`{}`, `{ }`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a":1`, `{"a":1}{}`, `{"a":1} x`, `{"a":1 "b":2}`, `{'a':1}`, `{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"A":3}`, `{"":1}`, `{"\u0061":4}`, `{"a":{"b":{"c":[{"d":1}]}}}`, `// c`, `{"a":/**/1}`, "\ufeff{}",
		`{"b":true,"i":1,"i8":-5,"i16":3,"i32":4,"i64":5,"u":6,"u8":7,"u64":8,"up":9,"f32":1.5,"f64":2.5,"s":"t","-":"d","priv":3,"Skip":"x"}`,
		`{"i8":200,"u8":-1,"f32":1e39,"s":1,"b":"true","i":1.5}`, `{"i8":"x","u8":[],"s":{}}`, `{"b":null,"i":null,"s":null,"f64":null}`, `{"I":1,"S":"x","F64":3}`,
		`{"b":"true","i":"12","u":"255","f":"1.5","s":"\"x\"","p":"3","n":"1.5","l":[1],"a":1,"d":"5","t":"\"w\"","ps":"\"q\"","ts":"9"}`,
		`{"b":true}`, `{"i":12}`, `{"i":1e999}`, `{"i":"x"}`, `{"i":""}`, `{"i":"12x"}`, `{"i":" 12"}`, `{"i":"null"}`, `{"i":"nul"}`, `{"b":"tru"}`, `{"b":"1"}`, `{"s":"x"}`, `{"s":"\"x"}`, `{"s":"'x'"}`, `{"s":"1"}`, `{"p":"null"}`, `{"p":null}`, `{"p":"x"}`, `{"n":"x"}`, `{"n":"\"1\""}`, `{"n":"\"x\""}`, `{"u":"256"}`, `{"f":"1e999"}`, `{"d":"x"}`, `{"t":"x"}`, `{"t":"5"}`, `{"s":{}}`, `{"s":[1]}`, `{"i":false}`, `{"ps":"null"}`, `{"s":"\"\\q\""}`, `{"b":"t"}`,
		`{"s":"a","p":1.5,"l":["a"],"m":{"a":1},"a":[1,2,3],"e":[1],"i":{"x":[1]},"st":{"X":1},"t":"2026-01-15T12:00:00Z","tp":null,"z":7,"zp":{"N":7},"o":{"name":"n","size":1},"pp":5}`, `{"p":null,"l":null,"m":null,"a":null,"i":null,"pp":null,"zi":1}`, `{"zi":null}`, `{"zi":{"N":1}}`,
		`{"name":"x"}`, `{"Name":"x","NAME":"y","nAmE":"z"}`, `{"k":1,"K":2}`, `{"s":1,"S":2,"ſ":3}`, `{"ä":"x","Ä":"y"}`, `{"a.b-c/d":1,"A.B-C/D":2}`, `{"Bad":1," x y ":2,"empty":3,"价格":4}`,
		`{"a":1,"B":2,"b":3,"c":4,"C":"x","in":{"name":"n","size":300},"deep":{"B":1,"c":2}}`, `{"a":1,"Own":2}`, `{"B":5,"own":6,"in":{"size":"x"}}`, `{"a":1,"D":2,"A":3}`, `{"B":1,"c":2,"X":3}`, `{"base":{"a":1},"exported":{"B":1},"Text":"x"}`, `{"base":{"in":{"size":-1}},"deep":{"B":"x"}}`,
		`{"v":1,"next":{"v":2,"next":null,"All":[{"v":3},{"V":"x"}]},"By":{"a":null,"b":{"v":4}}}`, `{"next":{"next":{"next":{"v":true}}}}`,
		`{"D":1,"DP":2,"W":"w","WP":"x","P":{"N":1},"PP":{"N":2},"T":{"N":3},"M":{"a":{"N":4}},"L":[{"N":5}],"A":{"a":[1]},"Tm":"2026-01-15T12:00:00+01:00","Raw":{"a" : 1},"RP":[1, 2],"RO":null,"Big":123456789012345678901234567890,"IP":"127.0.0.1","N":1.5,"NP":"2"}`,
		`{"D":"x"}`, `{"D":{}}`, `{"D":null,"DP":null,"W":null,"WP":null,"Raw":null,"RP":null,"N":null,"NP":null,"Tm":null,"Big":null,"IP":null}`, `{"W":1}`, `{"W":[1]}`, `{"W":{"a":1}}`, `{"W":true}`, `{"W":"bad"}`, `{"Tm":1}`, `{"Tm":"soon"}`, `{"N":"x"}`, `{"N":true}`, `{"Big":"x"}`, `{"IP":"x"}`, `{"Raw":"a\u0041"}`, `{"Raw":1.50,"RP":true}`, `{"DP":{"a":"x"}}`, `{"L":[{"N":"x"}]}`, `{"W":"\ud83d\u00e9"}`,
		`{"Any":{"b":[1,{"c":null}]},"Str":{"a":"x","a":"y"},"Int":{"1":"a","-2":"b"},"I8":{"1":1},"U8":{"2":2},"Key":{"3":true},"SKey":{"k":{"name":"n"}},"Word":{"w":1},"Raw":{"r":[ 1 ]},"List":{"l":[1,2]},"Ptr":{"p":{"size":1},"q":null},"Mm":{"a":{"b":1}}}`,
		`{"I8":{"200":1,"2":3}}`, `{"U8":{"-1":1}}`, `{"Int":{"x":"a","1":"b"}}`, `{"Int":{"1":2}}`, `{"Word":{"bad":1}}`, `{"Bool":{"true":1}}`, `{"Str":{"a":1,"b":"c"}}`, `{"SKey":{"k":{"size":999}}}`, `{"Ptr":{"p":5}}`, `{"Int":{"01":"a","+1":"b"," 1":"c"}}`, `{"":5}`,
		`{"B":"AQID","BB":["AQ==",null,""],"BA":[1,2],"BO":["x"],"I":[1],"S":["a","b"],"F":[1,2.5],"St":[{"name":"x"},{"size":1}],"P":[null,{"name":"p"}],"Any":[1,"a",null,true,[],{}],"Arr":[{"name":"a"},{"name":"b"},{"name":"c"}],"LL":[[],[1]],"Nil":null,"Raw":[1,"a", null],"E":[{},{}]}`,
		`{"B":[1,2]}`, `{"B":"!"}`, `{"BA":[1,2,3,4,300]}`, `{"BA":"AQID"}`, `{"BO":[1]}`, `{"BO":"AQID"}`, `{"I":[1,"x",3,"y"]}`, `{"I":{}}`, `{"I":"x"}`, `{"I":true}`, `{"St":[]}`, `{"St":[{"size":-1}]}`, `{"Arr":null}`, `{"P":[5]}`,
		`{"Any":1,"Str":null,"Filled":{"name":"n"},"Ptr":[1],"Err":null}`, `{"Str":"x"}`, `{"Str":{}}`, `{"Err":1}`, `{"Err":1e999}`, `{"Err":[]}`, `{"Err":true}`, `{"Filled":null}`, `{"Filled":5}`, `{"Filled":{"size":"x"}}`, `{"Any":1e999}`, `{"Any":[1,1e999,2]}`,
		`{"F24":"z","F01":1,"f13":"a","F02":2,"F12":12}`, `{"c":null}`, `{"c":1}`, `{"f":null,"Z":1}`,
		`{"sku":"1001","title":"保温杯 Thermos 500ml","price":99.5,"floor":69,"stock":120,"currency":"CNY"}`, "{\n\t\"sku\": \"1\",\r\n \"price\" :1 }\n",
		deepest, "[" + deepest + "]", strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000), strings.Repeat(`{"next":`, 10_001) + `{}` + strings.Repeat(`}`, 10_001), strings.Repeat("[", 20_000),
		`{"` + strings.Repeat("x", 1000) + `":1}`, `{"a":"` + strings.Repeat(`\u0041`, 1000) + `"}`,
	}
	return list
}

// written gives a value as encoding/json writes it without escaping HTML.
func written(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
