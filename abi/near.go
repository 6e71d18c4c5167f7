package abi

import (
	"strings"

	"github.com/sluicehq/sluice/abi/wire"
)

// Nearest gives the known names that are close to name, nearest first, at most
// most of them: those within an edit distance of a third of their length, and
// those that contain name or are contained in it. Ties keep the given order.
func Nearest(name string, known []string, most int) []string {
	type near struct {
		name     string
		distance int
	}
	folded := wire.Fold(name)
	var found []near
	for _, k := range known {
		same := wire.Fold(k)
		d := EditDistance(folded, same)
		if len(folded) >= 3 && (strings.Contains(same, folded) || strings.Contains(folded, same) && len(same) >= 3) {
			d = min(d, 2)
		}
		if d <= max(1, max(len(folded), len(same))/3) {
			found = append(found, near{k, d})
		}
	}
	for i := range found { // few are near; what package slices links for this is 12 KB
		for j := i; j > 0 && found[j].distance < found[j-1].distance; j-- {
			found[j], found[j-1] = found[j-1], found[j]
		}
	}
	names := make([]string, 0, min(most, len(found)))
	for _, f := range found[:min(most, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// maxDistanceRunes bounds the square work of EditDistance; longer texts count
// as wholly different unless they are equal.
const maxDistanceRunes = 128

// EditDistance gives the number of insertions, deletions, substitutions and
// swaps of neighbours (optimal string alignment) between two texts, in runes.
func EditDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > maxDistanceRunes || len(y) > maxDistanceRunes {
		if a == b {
			return 0
		}
		return max(len(x), len(y))
	}
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		now, before, older := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			now[j] = min(before[j]+1, now[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				now[j] = min(now[j], older[j-2]+1)
			}
		}
	}
	return rows[len(x)%3][len(y)]
}
