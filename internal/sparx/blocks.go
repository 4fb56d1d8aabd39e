package sparx

// maxGroup is the largest group of blocks of any path.
const maxGroup = 32

// worthGroup is the number of blocks from which an incomplete group is
// filled up: a group takes as long as two or three blocks.
const worthGroup = 4

// maxCall is how many blocks the vector code gets at once, less than 0.1
// ms: the garbage collector cannot stop a goroutine in there. It is a
// multiple of every group.
const maxCall = 1 << 14

// EncryptBlocks encrypts src into dst, as many numbers as fit, and returns
// how many, as copy does. They may be the same, but must not overlap
// otherwise.
func (c *Cipher) EncryptBlocks(dst, src []uint64) int {
	n := min(len(dst), len(src))
	dst, src = dst[:n], src[:n]
	k := c.keys()
	if group := groupOf(c.path); group > 0 {
		for len(src) >= group {
			part := min(len(src)/group*group, maxCall)
			k.encryptGroups(dst[:part], src[:part])
			dst, src = dst[part:], src[part:]
		}
		if len(src) >= worthGroup {
			var buf [maxGroup]uint64
			copy(buf[:], src)
			k.encryptGroups(buf[:group], buf[:group])
			copy(dst, buf[:])
			return n
		}
	} else if c.path == SWAR {
		for len(src) >= 4 && len(dst) >= 4 {
			k.encryptFour((*[4]uint64)(dst), (*[4]uint64)(src))
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
	k := c.keys()
	if group := groupOf(c.path); group > 0 {
		for len(src) >= group {
			part := min(len(src)/group*group, maxCall)
			k.decryptGroups(dst[:part], src[:part])
			dst, src = dst[part:], src[part:]
		}
		if len(src) >= worthGroup {
			var buf [maxGroup]uint64
			copy(buf[:], src)
			k.decryptGroups(buf[:group], buf[:group])
			copy(dst, buf[:])
			return n
		}
	} else if c.path == SWAR {
		for len(src) >= 4 && len(dst) >= 4 {
			k.decryptFour((*[4]uint64)(dst), (*[4]uint64)(src))
			dst, src = dst[4:], src[4:]
		}
	}
	for i := range dst {
		dst[i] = c.Decrypt64(src[i])
	}
	return n
}
