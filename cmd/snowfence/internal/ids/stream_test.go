package ids

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/internal/tests"
)

// counter is a generator without a fence.
type counter struct {
	next  snowfence.ID
	stop  snowfence.ID // fails from here on, if not 0
	after func()       // called by each Fill
}

var errCounter = errors.New("no more")

func (c *counter) Fill(_ context.Context, dst []snowfence.ID) (int, error) {
	if c.after != nil {
		c.after()
	}
	for i := range dst {
		if c.stop != 0 && c.next == c.stop {
			return i, errCounter
		}
		dst[i] = c.next
		c.next++
	}
	return len(dst), nil
}

func numbers(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, from+i)
	}
	return b.String()
}

func TestStream(t *testing.T) {
	f := must(newFormatter("dec", false))
	for _, n := range []int{0, 1, streamBatch - 1, streamBatch, streamBatch + 1, 10 * streamBatch} {
		var out bytes.Buffer
		tests.NoError(t, stream(t.Context(), &counter{}, f, &out, int64(n)))
		if out.String() != numbers(0, n) {
			t.Errorf("%d IDs: wrong text", n)
		}
	}
}

func TestStreamWritesWhatWasMade(t *testing.T) {
	f := must(newFormatter("dec", false))
	const made = streamBatch + 7
	var out bytes.Buffer
	tests.WantErr(t, stream(t.Context(), &counter{stop: made}, f, &out, 1e9), errCounter, "the generator's error")
	if out.String() != numbers(0, made) {
		t.Error("IDs made before the failure are missing")
	}

	ctx, cancel := context.WithCancel(t.Context())
	out.Reset()
	g := &counter{after: cancel}
	tests.WantErr(t, stream(ctx, g, f, &out, 1e9), context.Canceled, "after Ctrl-C the error")
	if out.String() != numbers(0, int(g.next)) {
		t.Error("IDs made before Ctrl-C are missing")
	}
}

// failing accepts a few writes.
type failing int

func (w *failing) Write(b []byte) (int, error) {
	if *w--; *w < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestStreamStopsWithItsReader(t *testing.T) {
	f := must(newFormatter("dec", false))
	for writes := range failing(3) {
		tests.WantErr(t, stream(t.Context(), &counter{}, f, &writes, 1<<40), io.ErrClosedPipe, "")
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// fails reports a call without an error.
var fails = tests.Fails

// A wait says how long it takes, and whether it ends by itself.
func TestExplainWait(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	grant := snowfence.Grant{Node: 1, From: s.Layout().TickOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))}
	from := s.Layout().TimeOf(grant.From)
	for _, c := range []struct {
		ahead time.Duration
		said  string
		err   string
	}{
		{time.Second, "", ""},
		{45 * time.Second, "snowfence: the first ID can be made in 45s; this command waits, and you need to do nothing: it is cold\n", ""},
		{time.Minute, "snowfence: the first ID can be made in 1m0s; this command waits, and you need to do nothing: it is cold\n", ""},
		{time.Hour, "", "the first ID can be made in 1h0m0s, and this command waits 1m0s at most, so run it again then: it is cold"},
	} {
		var said strings.Builder
		e := &command.Env{Stderr: &said, Now: func() time.Time { return from.Add(-c.ahead) }}
		src := &source{fence: snowfence.Unguarded(s, 1), whyLater: func(context.Context,
			snowfence.Grant,
		) string {
			return "it is cold"
		}}
		err := explainWait(t.Context(), e, grant, src, 0)
		if said.String() != c.said || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%v ahead: %q, %v", c.ahead, said.String(), err)
		}
	}
}

// The longest run has a length that one can read.
func TestExplainRate(t *testing.T) {
	for n, want := range map[int64]string{
		1<<63 - 1:     "so this takes 71356.7 years;",
		4_096_000:     "",
		3 * 4_096_000: "so this takes 3s;",
	} {
		var stderr bytes.Buffer
		explainRate(&command.Env{Stderr: &stderr}, 4_096_000, n)
		if got := stderr.String(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%d IDs: %q", n, got)
		}
	}
}

func TestFormats(t *testing.T) {
	ids := []snowfence.ID{5, 255}
	for _, c := range []struct {
		list string
		json bool
		want string
	}{
		{"dec", false, "5\n255\n"},
		{"hex", false, "5\nff\n"},
		{"dec,hex", false, "5\t5\n255\tff\n"},
		{"dec", true, "{\"id\":\"5\"}\n{\"id\":\"255\"}\n"},
		{"hex,base36", true, "{\"id\":\"5\",\"hex\":\"5\",\"base36\":\"5\"}\n{\"id\":\"255\",\"hex\":\"ff\",\"base36\":\"73\"}\n"},
	} {
		f := must(newFormatter(c.list, c.json))
		if got := string(f.append(nil, ids)); got != c.want {
			t.Errorf("%s, JSON %v: got %q, want %q", c.list, c.json, got, c.want)
		}
	}
	for _, list := range []string{"", "octal", "dec,dec"} {
		fails(t, errOf(newFormatter(list, false)), "the list %q was accepted", list)
	}
}
