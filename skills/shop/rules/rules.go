package main

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var (
	_ = sdk.Skill("shop.rules", "1.0.0", "What the shop sells by: no price that ends in 4, no absolute praise.",
		sdk.Limit(abi.Limits{Fuel: 20_000_000}))
	_ = sdk.Hook(noFours, abi.PreToolCall)
	_ = sdk.Hook(noAbsoluteWrites, abi.PreToolCall)
	_ = sdk.Hook(noAbsoluteAnswers, abi.PostReasoning)
)

// noFours refuses a write with a price of which the last digit is a 4: 84, 1004,
// 79.4, but not 84.5 and not 40.
func noFours(o sdk.Occasion) abi.Opinion {
	var in struct {
		Price *float64 `json:"price"`
	}
	if !o.Writes() {
		return abi.Opinion{}
	}
	if problem := o.Args(&in); problem != nil {
		return abi.Opinion{Problem: problem.WithField("price")}
	}
	if in.Price == nil {
		return abi.Opinion{}
	}
	step, ends := endsInFour(*in.Price)
	if !ends {
		return abi.Opinion{}
	}
	below, above := price(*in.Price-step), price(*in.Price+step)
	return abi.Opinion{Problem: sdk.Refuse(abi.NotAllowed, "no price of this shop ends in 4, and %s does", price(*in.Price)).
		WithField("price").WithHint("Offer the user %s or %s.", below, above).WithCandidates(below, above)}
}

// endsInFour reports whether the last digit that is not a trailing 0 of the cents
// is a 4, and what one is at its place. A whole price is looked at as it is.
func endsInFour(p float64) (step float64, ends bool) {
	cents := int64(math.Round(p * 100))
	for _, unit := range []int64{1, 10, 100} {
		if cents%(unit*10) != 0 || unit == 100 {
			return float64(unit) / 100, cents/unit%10 == 4
		}
	}
	return 0, false
}

func price(p float64) string { return strconv.FormatFloat(math.Round(p*100)/100, 'f', -1, 64) }

// absolutes are praises that claim what nobody can prove. The law's own are the
// first three; the others are what it is read to mean.
func absolutes() []string {
	return []string{
		"国家级", "最高级", "最佳", "最好", "最优", "最低价", "最便宜", "最先进", "最权威", "最受欢迎", "全网最低", "全网第一",
		"世界级", "顶级", "极品", "第一品牌", "销量第一", "独一无二", "绝无仅有", "史无前例", "万能", "100%有效",
	}
}

// noAbsoluteWrites refuses a write that has such a word in any text.
func noAbsoluteWrites(o sdk.Occasion) abi.Opinion {
	var in any
	if !o.Writes() {
		return abi.Opinion{}
	}
	if problem := o.Args(&in); problem != nil {
		return abi.Opinion{Problem: problem}
	}
	return forbidden(absoluteIn(in, ""))
}

// noAbsoluteAnswers refuses an answer that has one.
func noAbsoluteAnswers(o sdk.Occasion) abi.Opinion { return forbidden("", absolute(o.Text())) }

func forbidden(field, word string) abi.Opinion {
	if word == "" {
		return abi.Opinion{}
	}
	return abi.Opinion{
		Note: "the word " + word,
		Problem: sdk.Refuse(abi.NotAllowed, "%q is absolute praise, which the Advertising Law forbids", word).
			WithField(field).WithHint("Say the same without it: what can be measured, such as the price or the stock."),
	}
}

// absoluteIn finds the first such word in the texts of a value, and where it
// stands.
func absoluteIn(v any, at string) (field, word string) {
	switch v := v.(type) {
	case string:
		return at, absolute(v)
	case []any:
		for i, item := range v {
			if field, word = absoluteIn(item, at+"["+strconv.Itoa(i)+"]"); word != "" {
				return field, word
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if field, word = absoluteIn(v[name], strings.TrimPrefix(at+"."+name, ".")); word != "" {
				return field, word
			}
		}
	}
	return "", ""
}

// absolute finds the first such word of a text, whatever stands between its
// letters that nobody sees.
func absolute(text string) string {
	seen := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc) {
			return -1
		}
		return r
	}, text)
	for _, word := range absolutes() {
		if strings.Contains(seen, word) {
			return word
		}
	}
	return ""
}

func main() {} // never runs: the host asks the rules
