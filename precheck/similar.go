package precheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/abi/manifest"
)

// tooAlike is the likeness from which two tools are told as near-duplicates. Of
// the tools of this repository, two that search for other things have 0.79.
const tooAlike = 0.8

func (x *examination) canBeToldApart(context.Context) {
	x.eachTool(func(at string, t *manifest.Tool) {
		own := textOf(t)
		for _, skill := range append([]*manifest.Skill{x.skill}, x.Others...) {
			if skill != x.skill && skill.Name == x.skill.Name {
				continue // an earlier release of it
			}
			for _, other := range skill.Tools {
				if skill == x.skill && other.Name <= t.Name { // each pair once
					continue
				}
				if alike := likeness(own, textOf(other)); alike >= tooAlike {
					x.inTool(t.Name, at+".summary", "%s reads like %s of %s (%.0f %% alike)", t.Name, other.Name, skill.Name, 100*alike)
				}
				if skill != x.skill && other.Name == t.Name {
					x.find(Finding{Severity: Failure, File: x.ManifestFile, Tool: t.Name, Field: at + ".name",
						Message: fmt.Sprintf("%s has a tool %s, too, and a host loads no two of one name", skill.Name, t.Name),
						Mend:    "give the tool a name that says whose it is"})
				}
			}
		}
	})
}

func textOf(t *manifest.Tool) map[string]int { return grams(t.Name + " " + t.Summary) }

// grams counts the word pieces of three letters, and the single and double
// characters of scripts without spaces.
func grams(text string) map[string]int {
	counts := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune("^" + word + "$")
		for i := 0; i+3 <= len(runes); i++ {
			counts[string(runes[i:i+3])]++
		}
	}
	return counts
}

// likeness is the share of pieces that two texts have in common, from 0 to 1
// (the Dice coefficient).
func likeness(a, b map[string]int) float64 {
	common, all := 0, 0
	for piece, n := range a {
		common += min(n, b[piece])
		all += n
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(common) / float64(all)
}

// sorted joins names in their order.
func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
