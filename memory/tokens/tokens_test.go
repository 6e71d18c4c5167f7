package tokens

import (
	"slices"
	"strings"
	"testing"
)

func TestTermsOfATextAre(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"words in lower case", "Hello, World", "hello world"},
		{"stems", "opened openings", "open open"},
		{"a possessive goes", "Melanie's dogs' bed", "melani dog bed"},
		{"a curly possessive goes", "Melanie’s", "melani"},
		{"an apostrophe within a word goes", "don't", "dont"},
		{"numbers are kept", "10 of 2023", "10 of 2023"},
		{"thousands are one number", "1,000,000", "1000000"},
		{"a decimal is one number", "3.5 stars.", "3.5 star"},
		{"a full stop ends a word", "end.Next", "end next"},
		{"numbers end at a comma that is followed by a gap", "1, 2", "1 2"},
		{"full width is half width", "ＡＢＣ１２３", "abc123"},
		{"accents go", "Café CRÈME", "cafe creme"},
		{"Chinese gives pairs", "直播带货", "直播 播带 带货"},
		{"one letter stands alone", "我 they", "我 thei"},
		{"traditional is simplified", "開場優惠", "开场 场优 优惠"},
		{"scripts do not mix", "T恤99元", "t 恤 99 元"},
		{"a sign ends the pairs", "你好，世界", "你好 世界"},
		{"Japanese and Korean give pairs", "コーヒー 한국어", "コー ーヒ ヒー 한국 국어"},
		{"marks upon letters are skipped", "ne\u0301e", "nee"},
		{"signs give nothing", "!? -- ……", ""},
		{"a picture stands alone", "喝🍵☕吧 © 5°", "喝 🍵 ☕ 吧 5"},
		{"bytes that are no text give nothing", "\xff\xfe", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for term := range terms(tt.text) {
				got = append(got, string(term))
			}
			if all := strings.Join(got, " "); all != tt.want {
				t.Errorf("terms(%q) = %q, want %q", tt.text, all, tt.want)
			}
		})
	}
}

func TestAWordIsCutAndATextEnds(t *testing.T) {
	for term := range terms(strings.Repeat("a'", 1000)) {
		if len(term) > maxWordBytes {
			t.Errorf("a term of %d bytes", len(term))
		}
	}
	text := strings.Repeat("x ", MaxTextBytes/2) + "late"
	if Document(text).Find(termID([]byte("late"))) != 0 {
		t.Error("what stands after the bound was read")
	}
	if got := head("ab世", 4); got != "ab" {
		t.Errorf("head = %q, want no half letter", got)
	}
}

func TestSimplifiedPairsAreSorted(t *testing.T) {
	runes := []rune(simplified)
	if len(runes)%2 != 0 {
		t.Fatal("a character of the table has no partner")
	}
	for i := 2; i < len(runes); i += 2 {
		if runes[i] <= runes[i-2] {
			t.Fatalf("%c does not come after %c", runes[i], runes[i-2])
		}
		if simplify(runes[i]) != runes[i+1] {
			t.Fatalf("%c becomes %c, want %c", runes[i], simplify(runes[i]), runes[i+1])
		}
	}
}

func TestUsualPairsAddToTheSimplifiedOnes(t *testing.T) {
	table, runes := readPairs(simplified), []rune(usual)
	for i := 0; i+1 < len(runes); i += 2 {
		if i > 0 && runes[i] <= runes[i-2] || table[runes[i]-firstHan] != 0 {
			t.Errorf("%c is out of its order, or in the table already", runes[i])
		}
		if simplify(runes[i]) != runes[i+1] || simplify(runes[i+1]) != runes[i+1] {
			t.Errorf("%c becomes %c, and that %c", runes[i], simplify(runes[i]), simplify(simplify(runes[i])))
		}
	}
}

// What is written in another form of the same letters is found.
func TestAQuestionFindsAllFormsOfItsLetters(t *testing.T) {
	for _, tt := range []struct{ question, text string }{
		{"茶", "她喜欢喝茶"},
		{"茶？", "喝茶"},
		{"茶", "茶叶"},
		{"裏面", "盒子里面"},
		{"里面", "盒子裏面"},
		{"乾淨", "擦干净"},
		{"週末", "周末直播"},
		{"コーヒー", "ｺｰﾋｰ"},
		{"ガム", "ｶﾞﾑ"},
		{"Škoda", "S\u030ckoda"},
		{"tiếng", "tie\u0302\u0301ng"},
		{"が好き", "か\u3099好き"},
		{"한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"},
		{"☕", "早上 ☕ 先来"},
		{"🍵", "喝🍵吧"},
		{"ﬁne", "fine"},
	} {
		if !meet(Query(tt.question), Document(tt.text)) {
			t.Errorf("%q does not find %q", tt.question, tt.text)
		}
	}
	for _, tt := range []struct{ question, text string }{{"茶", "喝咖啡"}, {"🍵", "☕"}, {"喝茶", "吃喝"}, {"© 2023", "© 2024"}} {
		if meet(Query(tt.question), Document(tt.text)) {
			t.Errorf("%q finds %q", tt.question, tt.text)
		}
	}
}

func meet(query, document Vector) bool {
	return slices.ContainsFunc(query, func(term Term) bool { return document.Find(term.ID) != 0 })
}

// Indexes keep the hashes: should one change, all must be rebuilt.
func TestTermIDsAreStable(t *testing.T) {
	for term, want := range map[string]uint32{"price": 0x0b44452a, "直播": 0x6db47f90} {
		if got := termID([]byte(term)); got != want {
			t.Errorf("termID(%q) = %#x, want %#x", term, got, want)
		}
	}
}

func TestDocumentWeighs(t *testing.T) {
	once, twice := Document("price list"), Document("price price")
	price := Query("price")[0].ID
	if w1, w2 := once.Find(price), twice.Find(price); w2 <= w1 || w2 >= 2*w1 {
		t.Errorf("twice weighs %v, once %v: want more, and less than double", w2, w1)
	}
	long := Document("price " + strings.Repeat("word ", 500))
	if long.Find(price) >= once.Find(price) {
		t.Error("a term of a long text weighs as much as of a short one")
	}
	if !slices.IsSortedFunc(long, func(a, b Term) int { return int(int64(a.ID) - int64(b.ID)) }) {
		t.Error("the terms are not sorted")
	}
	if asked := Document("price list?"); asked.Find(price) >= once.Find(price) {
		t.Error("a question weighs as much as what is no question")
	}
	if bag := Bag("price list price"); bag.Find(price) != 2 || len(bag) != 2 {
		t.Errorf("the bag is %v, want the price twice", bag)
	}
}

func TestAQueryWeighs(t *testing.T) {
	for _, tt := range []struct {
		question, term string
		want           float32
	}{
		{"What is the price?", "price", 1},
		{"What is the price?", "the", functionShare},
		{"price price", "price", 1},
		{"主播叫什么？", "主播", 1},
		{"主播叫什么？", "什么", questionShare},
		{"主播叫什麼？", "什么", questionShare},
		{"When did it open?", "yesterday", momentShare},
		{"When did it open yesterday?", "yesterday", 1},
		{"Did it open when we left?", "yesterday", 0},
		{"什么时候开播？", "昨天", momentShare},
		{"开播", "昨天", 0},
		{"蓍的别名", "蓍", leadingShare},
		{"蓍，草名", "蓍", 1},
		{"蓍的别名", "的", 0},
		{"蓍，草名", "\xff蓍", letterShare},
		{"蓍的别名", "\xff蓍", 0},
	} {
		stemmed := []byte(tt.term) // of a letter within a word
		for term := range terms(tt.term) {
			if tt.term[0] != 0xff {
				stemmed = slices.Clone(term)
			}
		}
		if got := Query(tt.question).Find(termID(stemmed)); got != tt.want {
			t.Errorf("in %q the term %q weighs %v, want %v", tt.question, tt.term, got, tt.want)
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{"", "Hello, World's 1,000.5", "開場優惠 ＡＢＣ コーヒー", "\xff'.a'", "a.1.b,2,3'4", "yyyyyyys"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		vector := Document(text)
		for i, term := range vector {
			if i > 0 && vector[i-1].ID >= term.ID {
				t.Fatal("the terms are not ascending")
			}
			if !(term.Weight > 0 && term.Weight <= MaxWeight) {
				t.Fatalf("a weight of %v", term.Weight)
			}
		}
		query := Query(text)
		for i, term := range query {
			if i > 0 && query[i-1].ID >= term.ID || !(term.Weight > 0 && term.Weight <= 1) {
				t.Fatalf("the term %v of a query", term)
			}
		}
		if bag := Bag(text); len(text) <= longestQuestion && len(query) < len(bag) {
			t.Fatalf("a query of %d terms of a text of %d", len(query), len(bag))
		}
	})
}
