package memory

import "regexp"

// adviceElsewhere has the beginnings of words that recommend in languages that are not
// read else, folded: Cyrillic letters are in part Latin ones then.
var adviceElsewhere = regexp.MustCompile(`\b(?:recommand|recomiend|recomend|raccomand|empfehl|empfiehl|empfohl|rekomen|aconsej|conseil|consigli|sugier|sugger[eio]|` +
	`vorschlag|vorschlage|sarankan|menyarankan|disarankan|polecam|doporuc|anbefal|aanbevel|aanrad|oneri|tavsiye|khuyen)\w*|` +
	`おすすめ|オススメ|お勧め|すべき|推奨|추천|권장|권해|권합|pekomehдy|cobety|npeдлara|cлeдyet`)

// adviseElsewhere finds words that recommend in other languages than English and Chinese.
func adviseElsewhere(clause string) (string, bool) {
	found := adviceElsewhere.FindString(clause)
	return found, found != ""
}
