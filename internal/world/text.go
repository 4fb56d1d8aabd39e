package world

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// textLen is the length of a [rand.Text]: 130 bits.
const textLen = 26

// fresh returns a text that no other process has, and no copy of this one.
// A machine that was resumed twice has one state of the kernel's generator
// in both copies, until the kernel learns of it. The processor's generator,
// which no snapshot has, and the clock tell them apart at once.
func fresh() string {
	var kernel [32]byte
	rand.Read(kernel[:]) // never fails: crypto/rand ends the program instead
	return Text(kernel, hardware(), time.Now().UnixNano())
}

// Text hashes the words of the kernel, the processor and the clock to a
// text like [rand.Text]'s: it differs if one of the three does. A processor
// without a generator says 0.
func Text(kernel [32]byte, processor uint64, clock int64) string {
	b := binary.LittleEndian.AppendUint64(kernel[:], processor)
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(clock)))
	return base32.StdEncoding.EncodeToString(sum[:])[:textLen]
}
