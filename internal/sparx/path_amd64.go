//go:build amd64 && !purego

package sparx

func vectorPaths() []Path { return nil }

func (c *Cipher) encryptVector(dst, src []uint64) int { return 0 }
func (c *Cipher) decryptVector(dst, src []uint64) int { return 0 }
