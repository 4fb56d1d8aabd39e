//go:build purego || (!amd64 && !(linux && arm64))

package world

// hardware returns 0: this processor has no generator that is known here.
func hardware() uint64 { return 0 }
