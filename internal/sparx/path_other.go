//go:build !amd64 || purego

package sparx

func vectorPaths() []Path { return nil }

func groupOf(Path) int { return 0 }

// No path has groups here, so nothing calls these.

func (k *schedule) encryptGroups([]uint64)        {}
func (k *schedule) counterGroups([]uint64, *seed) {}
