package main

import (
	"testing"

	"github.com/sluicehq/sluice/sdk/skilltest"
)

func TestExamples(t *testing.T) { skilltest.New(t).Examples() }
