//go:build amd64 || arm64 || loong64 || mips64le || ppc64le || riscv64

package world_test

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/internal/world"
)

// page is what a VMClock device shows, as Firecracker sets it.
func page() []byte {
	b := make([]byte, os.Getpagesize())
	binary.LittleEndian.PutUint32(b, 0x4b4c4356)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	binary.LittleEndian.PutUint16(b[8:], 1)
	binary.LittleEndian.PutUint64(b[24:], 1<<8|1<<9)
	binary.LittleEndian.PutUint64(b[104:], 41)
	return b
}

func device(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vmclock0")
	tests.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// What the hypervisor writes is seen without a call to the kernel.
func TestCounter(t *testing.T) {
	path := device(t, page())
	counter := tests.Must(world.Counter(path))
	if got := counter.Load(); got != 41 {
		t.Errorf("the counter is %d", got)
	}
	m := world.At(counter)
	hypervisor := tests.Must(os.OpenFile(path, os.O_WRONLY, 0))
	defer hypervisor.Close()
	tests.Must(hypervisor.WriteAt([]byte{42}, 104))
	if !m.Copied() {
		t.Error("the machine was resumed, and it is not seen")
	}
}

// What is no VMClock, or does not count, is left alone.
func TestNoCounter(t *testing.T) {
	for name, harm := range map[string]func(b []byte) []byte{
		"empty":           func([]byte) []byte { return nil },
		"too short":       func(b []byte) []byte { return b[:111] },
		"another magic":   func(b []byte) []byte { b[0]++; return b },
		"another version": func(b []byte) []byte { b[8]++; return b },
		"no flag":         func(b []byte) []byte { b[25] &^= 1; return b },
		"an older size":   func(b []byte) []byte { binary.LittleEndian.PutUint32(b[4:], 111); return b },
	} {
		if c, err := world.Counter(device(t, harm(page()))); err == nil || c != nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	b := page()
	binary.LittleEndian.PutUint32(b[4:], 112)
	tests.WantErr(t, tests.ErrOf(world.Counter(device(t, b))), nil, "a page that ends with the counter")
	tests.WantErr(t, tests.ErrOf(world.Counter(filepath.Join(t.TempDir(), "none"))), fs.ErrNotExist, "no device")
}
