package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writesOf returns how often a state file says that it was written.
func writesOf(path string) int64 {
	data := must(os.ReadFile(path))
	s := must(decodeState(data))
	return s.writes
}

// The count of writes goes on from the higher one of those that the file
// and its lock say: the lock may be behind after a crash, and the file is
// when it is an older copy.
func TestFileCountsOn(t *testing.T) {
	s := testScheme("twitter")
	path := filepath.Join(t.TempDir(), "node")
	f := openState(t, path, s, 3)
	var older []byte
	for after := range int64(5) {
		grant(t, f, 2000*after)
		if after == 1 {
			older, _ = os.ReadFile(path)
		}
	}
	kill(t, f)
	if n := writesOf(path); n != 5 {
		t.Fatalf("written 5 times, and it says %d", n)
	}
	lock, err := os.OpenFile(path+".lock", os.O_WRONLY, 0)
	if err == nil {
		_, err = lock.WriteAt(make([]byte, countLen+1), 0) // the count is not synced
	}
	noError(t, errors.Join(err, lock.Close()))
	f = openState(t, path, s, 3)
	grant(t, f, 20_000)
	kill(t, f)
	if n := writesOf(path); n != 6 {
		t.Errorf("written a sixth time after the lock had lost its count, and it says %d", n)
	}
	noError(t, os.WriteFile(path, older, 0o644))
	noError(t, Reset(path, s, 3, s.Layout().TimeOf(40_000)))
	if n := writesOf(path); n != 7 {
		t.Errorf("written a seventh time over an older copy, and it says %d", n)
	}
}

// A damaged count of writes reads as 0, and a negative one in a state file
// is refused.
func TestCountsOfWrites(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "7\n": 0, strings.Repeat("0", 19) + "7\n": 7, strings.Repeat("0", 19) + "7x": 0,
		strings.Repeat("9", 20) + "\n": 0, "9223372036854775807\n\n": 0, "09223372036854775807\n": 1<<63 - 1,
	} {
		file := must(os.Create(filepath.Join(t.TempDir(), "lock")))
		defer file.Close()
		must(file.WriteString(text))
		if got := countedWrites(file); got != want {
			t.Errorf("%q counts as %d, not %d", text, got, want)
		}
	}
	s := testScheme("twitter")
	state := newState(s, 3)
	state.writes = -1
	path := filepath.Join(t.TempDir(), "node")
	noError(t, os.WriteFile(path, state.encode(), 0o644))
	wantErr(t, errOf(File(path, s, 3)), ErrUnusable, "written less than never")
}
