package memory

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
)

func found(id string, score float64, session host.SessionID, order int64) Found {
	return Found{ID: ID(id), Score: score, User: "ann", Session: session, Order: order}
}

func idsOf(hits []Hit) (ids []ID) {
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func TestRankFusesTheUnionOfBothLegs(t *testing.T) {
	sparse := []Found{found("words", 8, "", 0), found("both", 6, "", 0)}
	dense := []Found{found("both", 0.9, "", 0), found("meaning", 0.8, "", 0), found("far", 0.4, "", 0)}
	hits := Rank(Asked{Limit: 10}, sparse, dense, Ranking{Words: 1, Meaning: 0.5})
	if got, want := idsOf(hits), []ID{"both", "words", "meaning", "far"}; !slices.Equal(got, want) {
		t.Fatalf("ranked %v, want %v", got, want)
	}
	if got, want := hits[0].Score, 6.0/8+0.5; math.Abs(got-want) > 1e-9 {
		t.Errorf("both legs give %v, want %v", got, want)
	}
}

func TestRankAsSpecifiedScoresTheNearestByWords(t *testing.T) {
	sparse := []Found{found("words only", 20, "s", 1), found("b", 5, "s", 2)}
	dense := []Found{found("a", 0.9, "s", 3), found("b", 0.5, "s", 4)}
	hits := Rank(Asked{Text: "in May 2023", Limit: 10}, sparse, dense, Specified())
	if got, want := idsOf(hits), []ID{"b", "a"}; !slices.Equal(got, want) {
		t.Fatalf("ranked %v, want %v", got, want)
	}
	if got, want := hits[0].Score, 0.2*0.5+5; math.Abs(got-want) > 1e-9 {
		t.Errorf("the score is %v, want %v", got, want)
	}
	if hits := Rank(Asked{Limit: 10}, sparse, nil, Specified()); len(hits) != 2 {
		t.Errorf("without a dense leg %d are found, want those of the words", len(hits))
	}
}

func TestRankAsSpecifiedFindsByWordsWhatHasNoVectorYet(t *testing.T) {
	sparse, dense := []Found{found("no vector", 20, "", 0)}, []Found{found("near", 0.9, "", 0)}
	if got := idsOf(Rank(Asked{Limit: 10, Near: 150}, sparse, dense, Specified())); !slices.Equal(got, []ID{"no vector", "near"}) {
		t.Errorf("of a window that is not full %v are found", got)
	}
	if got := idsOf(Rank(Asked{Limit: 10, Near: 1}, sparse, dense, Specified())); !slices.Equal(got, []ID{"near"}) {
		t.Errorf("of a full window %v are found", got)
	}
}

func TestTheSpecifiedWindowIsThirtyTimesTheList(t *testing.T) {
	if sparse, dense := Specified().Windows(5); dense != 150 || sparse < dense {
		t.Errorf("for five it asks for %d by words and the %d nearest", sparse, dense)
	}
	if sparse, dense := Measured().Windows(5); sparse != Candidates(5) || dense != Candidates(5) {
		t.Errorf("as measured it asks for %d and %d", sparse, dense)
	}
}

func TestARankingIsKnownByItsName(t *testing.T) {
	for _, want := range []Ranking{Measured(), Specified()} {
		if got, ok := RankingOf(want.Name()); !ok || got != want {
			t.Errorf("%s is %+v", want.Name(), got)
		}
	}
	if _, ok := RankingOf("another"); ok {
		t.Error("another ranking is known")
	}
}

// TestEveryHitSaysWhatMadeItsScore has hits of one leg and of both, also the last of the
// dense leg, which is worth nothing.
func TestEveryHitSaysWhatMadeItsScore(t *testing.T) {
	sparse := []Found{found("words", 8, "s", 1), found("both", 6, "s", 2)}
	dense := []Found{found("both", 0.9, "s", 2), found("last", 0.1, "", 0)}
	for _, r := range []Ranking{Measured(), Specified()} {
		for name, dense := range map[string][]Found{"both legs": dense, "words alone": nil} {
			hits := Rank(Asked{Text: "in May 2023", Limit: 10}, sparse, dense, r)
			for _, h := range hits {
				sum := 0.0
				for _, p := range h.Parts {
					sum += p.Value
				}
				if len(h.Parts) == 0 || math.Abs(sum-h.Score) > 1e-12 {
					t.Errorf("%s, %s: %s has the score %v of %v", r.Name(), name, h.ID, h.Score, h.Parts)
				}
			}
			if len(hits) == 0 {
				t.Errorf("%s, %s: nothing is found", r.Name(), name)
			}
		}
	}
}

func TestRankLiftsTurnsByTheirNeighbours(t *testing.T) {
	r := Ranking{Words: 1, Beside: 0.1, TwoAway: 0.3, Session: 0.2}
	for _, tt := range []struct {
		name string
		near Found
		want float64
	}{
		{"the next turn", found("n", 5, "s", 11), 0.5 + 0.1 + 0.2},
		{"the turn before", found("n", 5, "s", 9), 0.5 + 0.1 + 0.2},
		{"two away", found("n", 5, "s", 12), 0.5 + 0.3 + 0.2},
		{"further in the session", found("n", 5, "s", 20), 0.5 + 0.2},
		{"another session", found("n", 5, "other", 11), 0.5 + 0.2*0.5},
		{"no session", found("n", 5, "", 11), 0.5},
		{"another user's session", Found{ID: "n", Score: 5, User: "bob", Session: "s", Order: 11}, 0.5 + 0.2*0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hits := Rank(Asked{Limit: 10}, []Found{found("best", 10, "s", 10), tt.near}, nil, r)
			at := slices.IndexFunc(hits, func(h Hit) bool { return h.ID == "n" })
			if got := hits[at].Score; math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("the score is %v, want %v: %v", got, tt.want, hits[at].Parts)
			}
		})
	}
}

func TestRankLiftsTheDayThatIsNamed(t *testing.T) {
	day := func(id string, at time.Time) Found { return Found{ID: ID(id), Score: 1, User: "ann", At: at} }
	may := day("may", time.Date(2023, 5, 8, 13, 0, 0, 0, time.UTC))
	june := day("june", time.Date(2023, 6, 8, 13, 0, 0, 0, time.UTC))
	hits := Rank(Asked{Text: "Where was she in June 2023?", Limit: 2}, []Found{may, june}, nil, Measured())
	if got, want := idsOf(hits), []ID{"june", "may"}; !slices.Equal(got, want) {
		t.Errorf("ranked %v, want %v", got, want)
	}
	r := Ranking{Words: 1, Recency: 0.2, HalfLife: 24 * time.Hour}
	hits = Rank(Asked{Now: june.At.Add(24 * time.Hour), Limit: 2}, []Found{may, june}, nil, r)
	if got := hits[0].Score; hits[0].ID != "june" || math.Abs(got-1.1) > 1e-9 {
		t.Errorf("first is %s with %v, want june with half of its recency", hits[0].ID, got)
	}
}

func TestEveryHitExplainsItsScore(t *testing.T) {
	var sparse, dense []Found
	for i := range 50 {
		f := found(fmt.Sprint(i), 1+float64(i*i%17), host.SessionID(fmt.Sprint(i%3)), int64(i/3))
		f.At = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		sparse = append(sparse, f)
		f.Score = math.Sin(float64(i))
		dense = append(dense, f)
	}
	r := Measured()
	r.Recency, r.HalfLife = 0.1, 240*time.Hour
	names := map[string]bool{}
	hits := Rank(Asked{Text: "2026年1月", Now: sparse[49].At, Limit: 30}, sparse, dense, r)
	for i, h := range hits {
		sum := 0.0
		for _, p := range h.Parts {
			sum += p.Value
			names[p.Name] = true
		}
		if math.Abs(sum-h.Score) > 1e-9 {
			t.Errorf("the parts of %s make %v, its score is %v", h.ID, sum, h.Score)
		}
		if i > 0 && hits[i-1].Score < h.Score {
			t.Errorf("%s stands behind a lesser score", h.ID)
		}
	}
	if len(hits) != 30 || len(names) != 6 {
		t.Errorf("%d hits with the parts %v, want 30 with all six", len(hits), names)
	}
}

func TestRankOfEqualScoresIsByID(t *testing.T) {
	hits := Rank(Asked{Limit: 2}, []Found{found("c", 1, "", 0), found("a", 1, "", 0), found("b", 1, "", 0)}, nil, Measured())
	if got, want := idsOf(hits), []ID{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("ranked %v, want %v", got, want)
	}
	if hits := Rank(Asked{Limit: 2}, nil, nil, Measured()); len(hits) != 0 {
		t.Errorf("nothing ranked gives %v", hits)
	}
}

func TestSessionsCountTheirThreeBestTurns(t *testing.T) {
	var hits []Hit
	for i, h := range []struct {
		session host.SessionID
		score   float64
	}{{"one", 1}, {"four", 0.9}, {"four", 0.9}, {"four", 0.9}, {"four", 0.9}, {"weak", 0.1}} {
		hits = append(hits, Hit{Found: found(fmt.Sprint(i), h.score, h.session, int64(i))})
	}
	list := Sessions(hits, 2)
	if len(list) != 2 || list[0].Session != "four" || list[1].Session != "one" {
		t.Fatalf("the sessions are %v", list)
	}
	if want := 0.9 * 1.75; math.Abs(list[0].Score-want) > 1e-9 {
		t.Errorf("the score is %v, want %v", list[0].Score, want)
	}
}

func TestCandidatesAreThirtyForEachPlaceWithinBounds(t *testing.T) {
	for limit, want := range map[int]int{0: 300, 5: 300, 20: 600, 1000: 3000} {
		if got := Candidates(limit); got != want {
			t.Errorf("Candidates(%d) = %d, want %d", limit, got, want)
		}
	}
}

func TestTurnTextHasWhatStandsAround(t *testing.T) {
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)
	if got, want := TurnText("What's new?", "Ann", at, "I moved."), "What's new?\nAnn\n8 May 2023\nI moved."; got != want {
		t.Errorf("TurnText = %q, want %q", got, want)
	}
	if got := TurnText("", "", time.Time{}, "I moved."); got != "I moved." {
		t.Errorf("TurnText = %q, want the text alone", got)
	}
}
