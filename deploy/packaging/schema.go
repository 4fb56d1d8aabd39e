//go:build schema

// Package packaging requires the tools that make and check packages, and
// the module with the schema of CycloneDX, of which nothing is compiled.
package packaging

import _ "github.com/CycloneDX/cyclonedx-go"
