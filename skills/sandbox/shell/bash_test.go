package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/skills/sandbox/shell/text"
)

// blobs are what the scripts of the tests read, by id.
func blobs() map[string]string {
	return map[string]string{
		"log": "2026-01-01 INFO start\n2026-01-01 ERROR refund failed: 12.50\n2026-01-02 info retry\n2026-01-02 WARN slow refund\n" +
			"2026-01-03 ERROR timeout\n2026-01-03 ERROR refund failed: 3.20\n\n2026-01-04 INFO end\n",
		"csv":   "sku,title,price,stock\n1001,青柠,89.90,12\n1002,apple pie,5,0\n1003,pear,12.5,7\n1004,Apple,-3,100\n1005,fig,89.90,12\n",
		"words": "the cat  sat\non the\tmat\nThe end\nthe cat  sat\n\n  indented line\n",
		"nonl":  "first\nsecond\nlast without end",
		"empty": "",
		"nums":  "10\n9\n2.5\n-1\n007\n1e3\n100\n0\n-0\n3 apples\n\n9\n",
		"中文":    "第一行 青柠\n第二行 柠檬\nÀ é ü\n第一行 青柠\n",
	}
}

// open gives a blob of the tests.
func open(b *text.Budget, id string) *text.Source {
	data, ok := blobs()[id]
	if !ok {
		b.Stop(abi.NewProblem(abi.NotFound, "there is no blob %q", id))
	}
	in := text.SourceOf(b, data)
	in.Blob = true
	return in
}

func evaluated(script string) (Printed, error) {
	return evaluate(Script{Script: script}, limits{maxSteps, maxMoved, maxHeld}, open)
}

// Every script gives what bash and GNU's tools give: the same output to the
// byte, and the same status.
func TestScriptsGiveWhatBashGives(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("there is no bash to compare with; install it: ", err)
	}
	dir := t.TempDir()
	for id, data := range blobs() { // a blob's name is a file's name, too
		if err := os.WriteFile(filepath.Join(dir, "blob:"+id), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile("testdata/scripts.txt")
	if err != nil {
		t.Fatal(err)
	}
	scripts := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n---\n")
	if len(scripts) < 150 {
		t.Errorf("there are %d scripts only", len(scripts))
	}
	for _, script := range scripts {
		c := exec.Command(bash, "-c", script)
		c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
		var out, complaints bytes.Buffer
		c.Stdout, c.Stderr = &out, &complaints
		_ = c.Run() // the status says it
		got, err := evaluated(script)
		if err != nil || got.Stdout != out.String() || got.Status != c.ProcessState.ExitCode() {
			t.Errorf("%s\n gives %q, %d (%s), %v\n bash:  %q, %d (%s)", script, got.Stdout, got.Status, got.Stderr, err, out.String(), c.ProcessState.ExitCode(), complaints.String())
		}
	}
}
