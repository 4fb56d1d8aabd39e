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

// EncryptBlocks encrypts numbers in place.
func (c *Cipher) EncryptBlocks(blocks []uint64) {
	k := c.keys()
	if group := groupOf(c.path); group > 0 {
		for len(blocks) >= group {
			part := min(len(blocks)/group*group, maxCall)
			k.encryptGroups(blocks[:part])
			blocks = blocks[part:]
		}
		if len(blocks) >= worthGroup {
			var buf [maxGroup]uint64
			copy(buf[:], blocks)
			k.encryptGroups(buf[:group])
			copy(blocks, buf[:])
			return
		}
	}
	for ; len(blocks) >= 4; blocks = blocks[4:] { // where there are no groups
		k.encryptFour((*[4]uint64)(blocks))
	}
	for i, v := range blocks {
		blocks[i] = c.Encrypt64(v)
	}
}
