package memory

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestEvidenceAloneHasNoVerdictInOtherWords(t *testing.T) {
	for _, answer := range []string{
		"Verdict: 89", "Final verdict: 89 yuan", "拍板 89 元", "结论：定 89 元", "宜定 89 元", "89 元为宜", "不宜再降", "定价 89 元胜率最高，可直接执行",
		"It makes sense to sell at 89.", "89 wins.", "Option B wins.", "89 is your number.", "All signs point to 79.", "把开场砍到8分钟",
		"r🙂ecommend 89", "建🙂议：降价", "建\n议降价", "建\r\n议降价", "建\u2028议降价", "rec\nommend 89", "I rec-\nommend 89", "you\nneed to lower it", "go\nwith 89",
		"🅁🄴🄲🄾🄼🄼🄴🄽🄳 89", "🅡🅔🅒🅞🅜🅜🅔🅝🅓 89", "🆁🅴🅲🅾🅼🅼🅴🅽🅳 89", "⒭⒠⒞⒪⒨⒨⒠⒩⒟ 89", "ｒｅｃｏｍｍｅｎｄ 89", "re·commend 89", "I_recommend_89", "rec_ommend 89", "_lower it to 89_", "建-议降价", "✅降价到59元", "①降价到59元",
		"建⃝议降价", "⽤1003，不⽤1001", "reco\u0301mmend 89",
	} {
		if got := saysOf(answer); got == "none" {
			t.Errorf("%q is taken for evidence alone", answer)
		}
	}
}

// What neither of the languages reads is no evidence; names, tables, numbers and
// addresses are.
func TestALanguageThatIsNotReadIsWithheld(t *testing.T) {
	for _, answer := range []string{
		"Je recommande 89", "Baissez le prix à 89 dès ce soir.", "Ich empfehle 89.", "Den Preis auf 89 senken, das ist besser so.", "Lo mejor es vender a 89 esta noche.",
		"Recomiendo 89", "Meglio abbassare il prezzo a 89.", "O melhor é baixar o preço para 89.", "Sebaiknya harganya diturunkan menjadi 89.", "Nên giảm giá xuống 89.",
		"Fiyatı 89 yapmak en iyisi.", "De prijs moet naar 89.", "89元をお勧めします", "価格を89円に下げるべきです", "今夜は89円がいいと思います。", "オススメは89",
		"추천합니다", "가격을 89원으로 내려야 합니다", "Рекомендую 89", "Лучше снизить цену до 89", "أنصح بسعر 89", "แนะนำ 89 บาท", "मैं 89 की सलाह देता हूँ", "jianyi jiangjia dao bashijiu yuan",
		"The last live sold 312 pieces at 59. Mieux vaut baisser encore le prix.", "近三场均价 79 元。\nもっと下げたほうがいい。",
	} {
		if len(CheckForm(EvidenceOnly, answer, Given{Read: []string{"the last live sold 312 pieces at 59, 近三场均价 79 元"}})) == 0 {
			t.Errorf("%q is taken for evidence alone", answer)
		}
	}
	for _, tt := range []struct {
		answer string
		read   string
	}{
		{"1001: 59, 69, 79", ""},
		{"899 of Nike Air Zoom Pegasus are in stock", "nike air zoom pegasus"},
		{"| Product | Price |\n| Lancôme Génifique | 760 |\n| Estée Lauder Double Wear | 420 |", "Lancôme Génifique, Estée Lauder Double Wear"},
		{"アネッサ sold 57", `{"name":"アネッサ"}`},
		{"资生堂 アネッサ 金瓶昨晚卖了 57 支", "资生堂アネッサ金瓶"},
		{"Käthe Kruse sold 4 dolls", "Käthe Kruse dolls"},
		{"It is at https://shop.example/artikel/preis-senken?von=abend", "https://shop.example/artikel/preis-senken?von=abend"},
		{"get_price: {\"sku\": \"1001\", \"updated_at\": \"2026-05-16T20:14:00+08:00\"}", "get_price"},
		{`You said: "je veux baisser le prix" (m4).`, "je veux baisser le prix"},
		{"SKU 1001-M-RED, 79 yuan", "1001-M-RED"},
		{"📈 59 → 69", ""},
		{"La Mer 面霜昨晚出了 2 单", "La Mer 面霜"},
	} {
		if found := CheckForm(EvidenceOnly, tt.answer, Given{Read: []string{tt.read}}); len(found) > 0 {
			t.Errorf("%q is withheld: %+v", tt.answer, found)
		}
	}
	if len(CheckForm(Refer, "Mieux vaut baisser encore le prix.", Given{})) > 0 || len(CheckForm(Refer, "Je recommande 89.", Given{})) == 0 {
		t.Error("with middling trust another language is read for what recommends, and no further")
	}
}

// disguises are ways to write a word that people still read; at is within it.
var disguises = map[string]func(word []rune, at int) string{
	"a character of no width": insert("\u200b"),
	"a joiner":                insert("\u2060"),
	"a soft hyphen":           insert("\u00ad"),
	"an emoji":                insert("🙂"),
	"an emoji with a tone":    insert("👍🏽"),
	"a heart":                 insert("❤️"),
	"a line break":            insert("\n"),
	"an empty line":           insert("\r\n\r\n"),
	"a mark":                  insert("\u0336"),
	"wide letters":            shift(0xFF41),
	"circled letters":         shift(0x24D0),
	"squared letters":         shift(0x1F130),
	"letters white on black":  shift(0x1F170),
	"bold letters":            shift(0x1D41A),
}

func insert(what string) func([]rune, int) string {
	return func(word []rune, at int) string { return string(word[:at]) + what + string(word[at:]) }
}

// shift writes the letters from a place on as those of another row of Unicode's.
func shift(first rune) func([]rune, int) string {
	return func(word []rune, at int) string {
		shifted := slices.Clone(word)
		for i := at; i < len(word); i++ {
			if low := unicode.ToLower(word[i]); low >= 'a' && low <= 'z' {
				shifted[i] = first + low - 'a'
			}
		}
		return string(shifted)
	}
}

// recommending gives answers and the word in each that recommends.
func recommending(t *testing.T) (all [][2]string) {
	for _, name := range []string{"zh.jsonl", "en.jsonl", "fresh.jsonl"} {
		for _, a := range readLines[formAnswer](t, filepath.Join("forms", name)) {
			found := CheckForm(Refer, a.Answer, Given{Memories: a.Recalled})
			if len(found) == 1 && strings.Count(a.Answer, found[0].Cue) == 1 && len([]rune(found[0].Cue)) > 1 && !strings.ContainsAny(found[0].Cue, "0123456789…") {
				all = append(all, [2]string{a.Answer, found[0].Cue})
			}
		}
	}
	return all
}

func TestNoDisguiseOfAWordChangesAVerdict(t *testing.T) {
	answers := recommending(t)
	if len(answers) < 150 {
		t.Fatalf("%d answers have one word that recommends", len(answers))
	}
	for i, a := range answers {
		word := []rune(a[1])
		for name, disguise := range disguises {
			at := 1 + i%(len(word)-1) // each place of a word comes up in some answer
			if text := strings.Replace(a[0], a[1], disguise(word, at), 1); len(CheckForm(Refer, text, Given{})) == 0 {
				t.Errorf("%s: %q passes", name, text)
			}
		}
	}
}

func FuzzDisguise(f *testing.F) {
	for i, name := range slices.Sorted(maps.Keys(disguises)) {
		f.Add(i, i, name)
	}
	words := [][2]string{{"我建议降价到99元", "建议"}, {"三场数据都在，应该降到99元。", "应该"}, {"I recommend 99.", "recommend"}, {"You should lower it to 99.", "should"}, {"The data are in. Go with 99.", "Go with"}}
	f.Fuzz(func(t *testing.T, which, at int, name string) {
		disguise, ok := disguises[name]
		if !ok || which < 0 || at < 0 {
			t.Skip()
		}
		a := words[which%len(words)]
		word := []rune(a[1])
		if text := strings.Replace(a[0], a[1], disguise(word, 1+at%(len(word)-1)), 1); len(CheckForm(Refer, text, Given{})) == 0 {
			t.Errorf("%s: %q passes", name, text)
		}
	})
}
