package precheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// What could not be compared under the reference host is said, and never passes in silence.
func TestWhatIsNotComparedUnderTheReferenceHostIsSaid(t *testing.T) {
	clock := goodWith(replaced(`"abi":1`, `"abi":1,"capabilities":{"clock":true}`))
	asking := goodWith(replaced(`"abi":1`, `"abi":1,"capabilities":{"http":[{"host":"shop.example.com","methods":["GET"],"paths":["/*"]}]}`))
	asking.imports = append(asking.imports, imp{"extism:host/env", "http_request", "ll>l"})
	odd := good()
	odd.imports = append(odd.imports, imp{userFunctions, abi.FuncBlockRead, "lii>"})
	for name, c := range map[string]struct {
		module []byte
		says   string // why it was not compared; nothing where it was
	}{
		"compared":              {good().bytes(), ""},
		"block functions":       {odd.bytes(), ""},
		"a clock of its own":    {clock.bytes(), "the clock"},
		"asks by Extism's way":  {asking.bytes(), "http_request"},
		"all that a skill does": {doing(putting()...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, all := judged(t, config(t), Subject{Name: name, Module: c.module})
			if found != nil {
				t.Errorf("found %q", found)
			}
			at := slices.IndexFunc(all, func(m Message) bool { return m.Rule == "portable" })
			if at < 0 || c.says == "" && all[at].Kind != Figure || c.says != "" && (all[at].Kind != Skipped || !strings.Contains(all[at].Text, c.says)) {
				t.Errorf("said is %+v", all[max(at, 0)])
			}
		})
	}
}
