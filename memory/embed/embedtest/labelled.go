package embedtest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A pair is a word in two languages, in letters that no stemmer makes the same.
type pair struct{ german, english string }

// perShelf is how many things are on a shelf.
const perShelf = 5

func pairs() []pair {
	return []pair{
		{"hund", "dog"}, {"pferd", "horse"}, {"baum", "tree"}, {"hemd", "shirt"}, {"tasse", "cup"},
		{"messer", "knife"}, {"stuhl", "chair"}, {"schluessel", "key"}, {"bruecke", "bridge"}, {"wolke", "cloud"},
		{"bild", "picture"}, {"blume", "flower"}, {"spiegel", "mirror"}, {"wagen", "car"}, {"strasse", "street"},
		{"stift", "pencil"}, {"fenster", "window"}, {"loeffel", "spoon"}, {"vogel", "bird"}, {"geige", "violin"},
	}
}

func shelves() []string { return []string{"red", "blue", "green", "white"} }

// Scopes is how many scopes the labelled data have, each with the same texts; every
// other one is held out.
const Scopes = 8

// Text is the memory of a thing, and Question what is asked of it, by number.
func Text(i int) string {
	return fmt.Sprintf("Auf dem %s shelf: %s", shelves()[i/perShelf], pairs()[i].german)
}

// Question asks in English for the thing of a memory.
func Question(i int) string {
	return fmt.Sprintf("Tell me of the %s on the %s shelf", pairs()[i].english, shelves()[i/perShelf])
}

// WriteLabelled makes a folder with docs.jsonl and queries.jsonl.
func WriteLabelled(folder string) error {
	var docs, queries bytes.Buffer
	for scope := range Scopes {
		for i := range pairs() {
			id, name := scope*len(pairs())+i, fmt.Sprint("scope", scope)
			if err := json.NewEncoder(&docs).Encode(map[string]any{"id": id, "scope": name, "session": 0, "text": Text(i)}); err != nil {
				return err
			}
			if err := json.NewEncoder(&queries).Encode(map[string]any{"id": id, "scope": name, "cat": "things", "text": Question(i), "rel": []int{id}}); err != nil {
				return err
			}
		}
	}
	return writeAll(folder, map[string][]byte{"docs.jsonl": docs.Bytes(), "queries.jsonl": queries.Bytes()})
}
