package sparx

// EncryptBlocks encrypts the numbers of src into dst, as many as fit, and returns how many those were, as copy does. The two may be the same; when
// they overlap in any other way the result is undefined.
func (c *Cipher) EncryptBlocks(dst, src []uint64) int {
	n := min(len(dst), len(src))
	dst, src = dst[:n], src[:n]
	if done := c.encryptVector(dst, src); done > 0 {
		dst, src = dst[done:], src[done:]
	}
	if c.path != Generic {
		for len(src) >= 4 && len(dst) >= 4 {
			c.keys().encryptFour((*[4]uint64)(dst), (*[4]uint64)(src))
			dst, src = dst[4:], src[4:]
		}
	}
	for i := range dst {
		dst[i] = c.Encrypt64(src[i])
	}
	return n
}

// DecryptBlocks is the inverse of EncryptBlocks.
func (c *Cipher) DecryptBlocks(dst, src []uint64) int {
	n := min(len(dst), len(src))
	dst, src = dst[:n], src[:n]
	if done := c.decryptVector(dst, src); done > 0 {
		dst, src = dst[done:], src[done:]
	}
	if c.path != Generic {
		for len(src) >= 4 && len(dst) >= 4 {
			c.keys().decryptFour((*[4]uint64)(dst), (*[4]uint64)(src))
			dst, src = dst[4:], src[4:]
		}
	}
	for i := range dst {
		dst[i] = c.Decrypt64(src[i])
	}
	return n
}

// EncryptCounter fills dst with the encryptions of start, start + step, start + 2 × step and so on, modulo 2^64. It is faster than EncryptBlocks
// where the step is small, since then only the lowest 16 bits change from one number to the next, most of the time.
func (c *Cipher) EncryptCounter(dst []uint64, start, step uint64) {
	for i := range dst {
		dst[i] = start + uint64(i)*step
	}
	c.EncryptBlocks(dst, dst)
}
