package redisstore

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
)

// played answers as a Redis with the namespaces a and b, which are two keys
// with an identity.
type played struct {
	ids    map[string]string
	refuse string // the key of which one change is refused
}

func (p *played) serve(c net.Conn) {
	for in := bufio.NewReader(c); ; {
		var n, size int
		if _, err := fmt.Fscanf(in, "*%d\r\n", &n); err != nil {
			return
		}
		args := make([]string, n)
		for i := range args {
			_, _ = fmt.Fscanf(in, "$%d\r\n", &size)
			text := make([]byte, size+2)
			_, _ = io.ReadFull(in, text)
			args[i] = string(text[:size])
		}
		_, _ = io.WriteString(c, p.answer(args)+"\r\n")
	}
}

func (p *played) answer(args []string) string {
	switch args[0] {
	case "SMEMBERS":
		return "*2\r\n+a\r\n+b"
	case "EVALSHA":
		key, fresh, old := args[3], args[6], args[7]
		if p.ids[key] == "" {
			p.ids[key] = fresh
		}
		if args[1] == suspectScript.sha && key == p.refuse {
			p.refuse = ""
			return "-OOM"
		} else if args[1] == suspectScript.sha && p.ids[key] == old {
			p.ids[key] = fresh
		}
		return fmt.Sprintf("*4\r\n+%s\r\n+run\r\n+\r\n+", p.ids[key])
	}
	return "+OK"
}

// TestSuspectFailsInTheMiddle calls Suspect again, which changes the rest.
func TestSuspectFailsInTheMiddle(t *testing.T) {
	for _, refused := range []string{"a", "b", listName} {
		p := &played{ids: map[string]string{}, refuse: "snowfence:{" + refused + "}:meta"}
		c := must(rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{"played:1"}, ForceSingleClient: true, AlwaysRESP2: true, DisableCache: true,
			PipelineMultiplex: -1,
			DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go p.serve(theirs)
				return ours, nil
			},
		}))
		defer c.Close()
		st := must(New(c, nil))
		st.servers["run"] = &checked{at: time.Now()}
		for i := range mostSeen {
			st.seen[strconv.Itoa(i)] = seen{}
		}
		identities := func() (ids []string) {
			for _, name := range []string{"a", "b", listName} {
				ids = append(ids, must(st.runRead(t.Context(), name, "get", "0")).told().Identity)
			}
			return ids
		}
		before := identities()
		if len(st.seen) > mostSeen {
			t.Errorf("%d names are remembered", len(st.seen))
		}
		if st.Suspect(t.Context(), before[0]) == nil {
			t.Error("nothing was refused")
		}
		if err := st.Suspect(t.Context(), before[0]); err != nil {
			t.Error(err)
		}
		for i, id := range identities() {
			if id == before[i] {
				t.Errorf("refused for %s: it is still %q", refused, id)
			}
		}
	}
}

// busy is a client whose dedicated connections are in use.
type busy struct {
	rueidis.Client
	free            chan struct{}
	asked, released atomic.Int64
}

func (b *busy) Dedicate() (rueidis.DedicatedClient, func()) {
	b.asked.Add(1)
	<-b.free
	return nil, func() { b.released.Add(1) }
}

// TestDedicatedConnectionsInUse ends calls with an error, and gives back
// all connections that come too late.
func TestDedicatedConnectionsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{free: make(chan struct{})}
		st := must(New(b, &Options{Replicas: 1}))
		for range 20 {
			_, err := st.Server(t.Context(), "a")
			results, _ := st.commitCommands(t.Context(), "a", func(bool) []rueidis.Completed {
				return make([]rueidis.Completed, 2)
			})
			for _, err := range []error{err, results[0].Error(), results[1].Error()} {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}
		}
		if n := b.asked.Load(); n > 16 {
			t.Errorf("%d calls wait", n)
		}
		close(b.free)
		synctest.Wait()
		if asked, released := b.asked.Load(), b.released.Load(); asked != released {
			t.Errorf("%d of %d connections came back", released, asked)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
