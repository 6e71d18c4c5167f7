package window

import (
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/model"
)

// Tools gives what the model is told of the tools, in the given order.
func Tools(tools []*manifest.Tool) []model.Tool {
	told := make([]model.Tool, 0, len(tools))
	for _, t := range tools {
		told = append(told, toolOf(t))
	}
	return told
}
