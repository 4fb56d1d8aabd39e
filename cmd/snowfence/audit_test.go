package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// writeInput writes a file, compressed if its name says so.
func writeInput(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	f, err := os.Create(name)
	noError(t, err)
	defer f.Close()
	var w io.WriteCloser = f
	switch filepath.Ext(name) {
	case ".gz":
		w = gzip.NewWriter(f)
	case ".zst":
		w = must(zstd.NewWriter(f))
	}
	must(w.Write(data))
	noError(t, w.Close())
	return name
}

// Compressed or not, from a file or a pipe: the same IDs.
func TestAuditInputs(t *testing.T) {
	const n = 300_000
	var text bytes.Buffer
	for i := range uint64(n) {
		fmt.Fprintln(&text, 2104672976770170879+i<<20)
	}
	for _, file := range []string{"ids.txt", "ids.txt.gz", "ids.txt.zst"} {
		name := writeInput(t, file, text.Bytes())
		data := must(os.ReadFile(name))
		for _, args := range [][]string{{"audit", name}, {"audit"}, {"audit", "-"}} {
			var out, errs bytes.Buffer
			code := run(t.Context(), args, bytes.NewReader(data), &out, &errs, nil)
			if code != command.ExitOK || !strings.Contains(out.String(),
				"IDs         300,000\nduplicates  none\norder       never falls\n") {
				t.Errorf("%s, %v: exit code %d\n%s%s", file, args, code, out.String(), errs.String())
			}
		}
		// Twice the same file: every ID is there twice, and nothing about
		// the second half is guessed.
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"audit", "--limit", "1", name, name}, nil, &out, &errs, nil)
		if code != command.ExitFindings || !strings.Contains(out.String(),
			"300,000 IDs came more than once, 300,000 too many") {
			t.Errorf("%s twice: exit code %d\n%s%s", file, code, out.String(), errs.String())
		}
	}
}

func TestAuditBrokenInputs(t *testing.T) {
	whole := writeInput(t, "ids.txt.gz", []byte(strings.Repeat("12345\n", 10_000)))
	data := must(os.ReadFile(whole))
	for _, c := range []struct {
		data []byte
		want string
	}{
		{data[:len(data)-9], "unexpected EOF"},
		{[]byte{0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff}, "standard input: "},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"audit"}, bytes.NewReader(c.data), &out, &errs, nil)
		if code == command.ExitOK || code == command.ExitFindings || !strings.Contains(errs.String(), c.want) {
			t.Errorf("want %s: exit code %d, %s", c.want, code, errs.String())
		}
	}
}

// A pipe that gives nothing does not keep the program from ending.
func TestAuditInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	time.AfterFunc(50*time.Millisecond, cancel)
	var errs bytes.Buffer
	if code := run(ctx, []string{"audit"}, in, io.Discard, &errs, nil); code != command.ExitInterrupted {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
}
