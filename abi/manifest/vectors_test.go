package manifest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheManifestsOfTheVectorsLoadAndAreWhatTheirJSONSays(t *testing.T) {
	found, err := filepath.Glob("../testdata/manifests/*.yaml")
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for _, file := range found {
		s, err := Load(os.DirFS("../testdata/manifests"), filepath.Base(file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := encode(s.Manifest); err != nil || !bytes.Equal(got, bytes.TrimSpace(want)) {
			t.Errorf("%s is\n%s\nwant\n%s", file, got, want)
		}
	}
}

func TestTheInvalidManifestsOfTheVectorsAreRefused(t *testing.T) {
	raw, err := os.ReadFile("../testdata/manifests/invalid.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Name, YAML, Error string }
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if _, err := Parse("skill.yaml", []byte(v.YAML), nil); err == nil || !strings.Contains(err.Error(), v.Error) {
			t.Errorf("%s: got %v\nwant %s", v.Name, err, v.Error)
		}
	}
}
