package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// FuzzDecode: whatever the input and flags are, decode ends with 0 or 2,
// says why, and prints at most one object a line of input.
func FuzzDecode(f *testing.F) {
	f.Add("2104672976770170879\n-5\n\nx", "twitter", "dec", false)
	f.Add("lfrlf9ts0000", "randflake-raw", "base32hex", true)
	f.Add("1", "time=41,node=10,seq=12,tick=1us", "hex-fixed", false)
	f.Fuzz(func(t *testing.T, input, layout, from string, guess bool) {
		args := []string{"decode", "--json", "--from=" + from}
		if !guess {
			args = append(args, "--layout="+layout)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(input), &stdout, &stderr, nil)
		if code != command.ExitOK && code != command.ExitUsage {
			t.Errorf("exit code %d", code)
		}
		if (code != command.ExitOK) != (stderr.Len() > 0) {
			t.Errorf("exit code %d with the messages %q", code, stderr.String())
		}
		if got, most := bytes.Count(stdout.Bytes(), []byte("\n")), strings.Count(input, "\n")+1; got > most {
			t.Errorf("%d lines out of %d", got, most)
		}
	})
}
