//go:build unix

package redis

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/relay"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func record(node, revision int64) store.Record {
	return store.Record{
		Key: store.Key{Namespace: namespace, Node: node}, Nonce: fmt.Sprint("nonce", node, "/", revision),
		Revision: revision, Until: 1000 * revision, Holder: "holder", Label: "label",
	}
}

// known reports whether the result of a swap is certain.
func known(err error) bool { return err == nil || errors.Is(err, store.ErrLost) }

// TestUnacknowledged stops the replica whose acknowledgement a swap needs.
func TestUnacknowledged(t *testing.T) {
	master, replica := servers.StartRedis(t), servers.StartRedis(t)
	replica.Follow(t, master)
	st := newStore(t, single(t, master), &redisstore.Options{Replicas: 1, Timeout: shared.Patience()})
	hasty := newStore(t, single(t, master), &redisstore.Options{Replicas: 1, Timeout: 100 * time.Millisecond})
	one, two, three := record(1, 1), record(1, 2), record(1, 3)
	swap(t, st, store.Write{New: one})
	wrong := store.Write{Old: "wrong", New: record(2, 1)}
	shared.Eventually(t, "the hasty store puts the namespace on the list", func() error {
		if _, err := store.Put(t.Context(), hasty, wrong); !errors.Is(err, store.ErrLost) {
			return err
		}
		return nil
	})
	replica.Signal(t, syscall.SIGSTOP)
	errs, _, _ := hasty.Swap(t.Context(), []store.Write{{Old: one.Nonce, New: two}, wrong})
	if known(errs[0]) || !strings.Contains(errs[0].Error(), "0 of 1 replicas") {
		t.Errorf("a swap that no replica has: %v", errs[0])
	}
	if !errors.Is(errs[1], store.ErrLost) { // nothing was done and nothing will be, after any promotion
		t.Errorf("a swap with a wrong nonce: %v", errs[1])
	}
	rs, _, err := st.Get(t.Context(), []store.Key{one.Key})
	if err != nil || rs[0] != two {
		t.Errorf("stored is %+v, %v", rs, err)
	}
	replica.Signal(t, syscall.SIGCONT)
	swap(t, st, store.Write{Old: two.Nonce, New: three})
}

// swap makes one write, which must be done.
func swap(t testing.TB, st store.Store, w store.Write) {
	t.Helper()
	kinds.Put(t, st, w)
}

// TestRenewalsNeedTheReplica stops the replica while a generator runs: it
// goes to the end of what was acknowledged and no further, though the
// master has more.
func TestRenewalsNeedTheReplica(t *testing.T) {
	master, replica := servers.StartRedis(t), servers.StartRedis(t)
	replica.Follow(t, master)
	st := newStore(t, single(t, master), &redisstore.Options{Replicas: 1, Timeout: shared.TTL / 3})
	f := newFleet(t, st)
	h := f.Start("holder", "", -1)
	h.More()
	replica.Signal(t, syscall.SIGSTOP)
	shared.Eventually(t, "a renewal that is not used", func() error {
		if s := h.Status(); s.Trouble == nil || !strings.Contains(s.Trouble.Error(), "replicas have the write") {
			return fmt.Errorf("trouble is %v", s.Trouble)
		}
		return nil
	})
	var until int64
	shared.Eventually(t, "the end of the grant, and a later one that is stored", func() error {
		until = h.Grant().Until // an acknowledgement under way may have come at first
		rs, _, err := st.Get(t.Context(), []store.Key{{Namespace: "default", Node: h.Grant().Node}})
		now := snowfence.MustLayout("twitter").TickOf(time.Now())
		if err != nil || rs[0].Until <= until || now <= until+200 {
			return fmt.Errorf("now is %d, %d are acknowledged, stored is %+v, %w", now, until, rs, err)
		}
		return nil
	})
	if g := h.Grant(); g.Until != until {
		t.Errorf("granted are ticks to %d, and acknowledged to %d", g.Until, until)
	}
	if last := h.Last(); last == 0 || last >= until {
		t.Errorf("an ID of tick %d, and acknowledged are ticks to %d", last, until)
	}
	replica.Signal(t, syscall.SIGCONT)
	h.More()
}

// TestLostReply closes the connection when the server has swapped and
// before anybody learns of it. It must not be sent again: the second try
// would be lost to the first.
func TestLostReply(t *testing.T) {
	r, replica := servers.StartRedis(t), servers.StartRedis(t)
	replica.Follow(t, r)
	for _, o := range []*redisstore.Options{nil, {Replicas: 1, Timeout: shared.Patience()}} {
		t.Run(fmt.Sprint("dedicated ", o != nil), func(t *testing.T) {
			r.Do(t, "FLUSHALL")
			var lose atomic.Bool
			one, two := record(1, 1), record(1, 2)
			way := relay.Start(t, r.Address(), func(_ *relay.Conn, request []byte) []byte {
				lose.Store(bytes.Contains(request, []byte(two.Nonce))) // a reply of before is let through
				return request
			}, func(_ *relay.Conn, reply []byte) []byte {
				if lose.Swap(false) {
					return nil
				}
				return reply
			})
			st := newStore(t, client(t, rueidis.ClientOption{
				InitAddress: []string{way.Address}, ForceSingleClient: true,
			}), o)
			kinds.Put(t, st, store.Write{New: one})
			if _, err := store.Put(short(t), st, store.Write{Old: one.Nonce, New: two}); known(err) {
				t.Errorf("a swap without an answer: %v", err)
			}
			rs, _, err := st.Get(short(t), []store.Key{one.Key})
			if err != nil || rs[0] != two {
				t.Errorf("stored is %+v, %v", rs, err)
			}
		})
	}
}

func TestForgottenScripts(t *testing.T) {
	r := servers.StartRedis(t)
	st := newStore(t, single(t, r), nil)
	for i := range int64(3) {
		r.Do(t, "SCRIPT", "FLUSH")
		var writes []store.Write
		for node := range int64(1500) { // several scripts
			writes = append(writes, store.Write{New: record(node+2000*i, 1)})
		}
		kinds.Put(t, st, writes...)
		r.Do(t, "SCRIPT", "FLUSH")
		all := snowfence.NodeRange{Until: 1 << 62}
		if rs, _, err := st.List(t.Context(), namespace, all, 1<<20); err != nil || int64(len(rs)) != 1500*(i+1) {
			t.Errorf("%d records, %v", len(rs), err)
		}
	}
}

// TestWaitAOF plays a Redis 7.2, which this test cannot count on: WAITAOF
// is answered in its stead.
func TestWaitAOF(t *testing.T) {
	r := servers.StartRedis(t, "--appendfsync", "everysec")
	version := regexp.MustCompile(`redis_version:[0-9.]+`)
	var reply atomic.Pointer[string]
	var asked atomic.Int64
	way := relay.Start(t, r.Address(), func(c *relay.Conn, b []byte) []byte {
		if !strings.Contains(string(b), "$7\r\nWAITAOF\r\n$1\r\n1\r\n$1\r\n1\r\n$2\r\n50\r\n") {
			return b
		}
		asked.Add(1)
		_, _ = c.Client.Write([]byte(*reply.Load()))
		return []byte{} // the server is not asked
	}, func(_ *relay.Conn, b []byte) []byte {
		return version.ReplaceAllFunc(b, func(v []byte) []byte { return []byte("redis_version:7.2.9999999")[:len(v)] })
	})
	say := func(text string) { reply.Store(&text) }
	say("*2\r\n:1\r\n:1\r\n")
	c := client(t, rueidis.ClientOption{InitAddress: []string{way.Address}, ForceSingleClient: true})
	st := newStore(t, c, &redisstore.Options{AOF: true, Replicas: 1, Timeout: 50 * time.Millisecond})
	last := record(1, 1)
	kinds.Put(t, st, store.Write{New: last})
	for i, c := range []struct{ reply, want string }{
		{"*2\r\n:0\r\n:1\r\n", "the master has not synced"},
		{"*2\r\n:1\r\n:0\r\n", "0 of 1 replicas have synced"},
		{"-ERR unknown command 'WAITAOF', with args beginning with: 'secret'\r\n", "unknown command 'WAITAOF'"},
		{"-NOPERM User ids has no permissions to run the 'waitaof' command\r\n", "Options.AOF also needs +waitaof"},
		{"*2\r\n:1\r\n:2\r\n", ""},
	} {
		say(c.reply)
		next := record(1, int64(i+2))
		_, err := store.Put(t.Context(), st, store.Write{Old: last.Nonce, New: next})
		last = next
		if c.want == "" && err != nil || c.want != "" && (known(err) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "secret")) {
			t.Errorf("answered %q: %v", c.reply, err)
		}
	}
	if asked.Load() != 7 { // the list of namespaces, and six swaps
		t.Errorf("WAITAOF was asked %d times", asked.Load())
	}
}
