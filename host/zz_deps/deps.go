//go:build never

package deps

import (
	_ "cel.dev/cel-go/cel"
	_ "github.com/extism/go-pdk"
	_ "github.com/extism/go-sdk"
	_ "github.com/go-git/go-git/v5"
	_ "github.com/google/uuid"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v5"
	_ "github.com/sashabaranov/go-openai"
	_ "github.com/spf13/cobra"
	_ "github.com/tetratelabs/wazero"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/mod/semver"
	_ "golang.org/x/sync/singleflight"
	_ "modernc.org/sqlite"
)
