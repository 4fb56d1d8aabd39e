//go:build amd64 || arm64 || loong64 || mips64le || ppc64le || riscv64

package world

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Offsets in the page, which is little endian, and the values that must be
// there: include/uapi/linux/vmclock-abi.h of Linux.
const (
	vmclockMagic   = 0x4b4c4356 // at 0
	sizeAt         = 4          // of the page, as the device says it
	versionAt      = 8          // 1
	flagsAt        = 24
	counterAt      = 104
	counterPresent = 1 << 8 // of the flags
)

// Counter maps the page of a VMClock device, and returns its counter of
// resumptions from a snapshot. The page stays mapped to the end of the
// process. The error says why there is none.
func Counter(path string) (*atomic.Uint64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, counterAt+8) // read first: to touch a page that no file backs would end the process
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	magic, size := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[sizeAt:])
	version, flags := binary.LittleEndian.Uint16(head[versionAt:]), binary.LittleEndian.Uint64(head[flagsAt:])
	switch {
	case magic != vmclockMagic || version != 1:
		return nil, fmt.Errorf("%s is no VMClock of version 1", path)
	case size < counterAt+8 || flags&counterPresent == 0:
		return nil, fmt.Errorf("the hypervisor does not count resumptions in %s", path)
	}
	page, err := syscall.Mmap(int(file.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return (*atomic.Uint64)(unsafe.Pointer(&page[counterAt])), nil
}
