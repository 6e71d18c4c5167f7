package main

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/skills/shop"
)

// maxFound bounds the products of one answer: what a model can use, and what
// a user can hear.
const maxFound = 20

// Scores of a product. Less is the share of the query's terms, in hundredths,
// that its title holds; 0 is no match.
const (
	exact = 300 // the query is its number
	whole = 200 // its title holds the whole query
)

type hit struct {
	product shop.Product
	score   int
}

// best orders the hits, best first, and drops those that match less than half
// as well as the best one: with a good match at hand they are noise, and
// without one they are what there is. Equal hits keep their order.
func best(hits []hit) Found {
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score })
	found := Found{Products: []shop.Product{}}
	for _, h := range hits {
		if 2*h.score < hits[0].score {
			break
		}
		if found.Total++; found.Total <= maxFound {
			found.Products = append(found.Products, h.product)
		}
	}
	return found
}

// score rates a product for a query, in lower case, and its terms. An empty
// query matches all.
func score(p shop.Product, query string, terms []string) int {
	title, sku := strings.ToLower(p.Title), strings.ToLower(p.SKU)
	switch {
	case query == sku:
		return exact
	case strings.Contains(title, query):
		return whole
	}
	held := 0
	for _, term := range terms {
		if strings.Contains(title, term) || term == sku {
			held++
		}
	}
	return 100 * held / max(len(terms), 1)
}

// terms cuts a query, in lower case, into what is looked for: words of letters and digits, and
// of Chinese, which has no spaces, each pair of neighbouring characters.
func terms(query string) []string {
	var found []string
	for _, word := range strings.FieldsFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, run := range runs(word) {
			found = append(found, pairs(run)...)
		}
	}
	return found
}

// runs cuts a word where Chinese and other letters meet.
func runs(word string) [][]rune {
	var cut [][]rune
	var run []rune
	for _, r := range word {
		if len(run) > 0 && unicode.Is(unicode.Han, r) != unicode.Is(unicode.Han, run[0]) {
			cut, run = append(cut, run), nil
		}
		run = append(run, r)
	}
	return append(cut, run)
}

func pairs(run []rune) []string {
	if !unicode.Is(unicode.Han, run[0]) || len(run) < 3 {
		return []string{string(run)}
	}
	var found []string
	for i := range len(run) - 1 {
		found = append(found, string(run[i:i+2]))
	}
	return found
}
