//go:build tools

// Package tools pins the programs of GoVPP that the tests run.
package tools

import (
	_ "go.fd.io/govpp/cmd/govpp"
	_ "go.fd.io/govpp/examples/perf-bench"
	_ "go.fd.io/govpp/examples/simple-client"
	_ "go.fd.io/govpp/examples/stats-client"
)
