package agent

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
)

// Agents are killed and stopped at any moment, requests and answers get lost, the server is
// unreachable, units are given back, older states are restored. No tick of a node is sublet twice,
// and agents that begin while the server is unreachable have nodes.
func TestRestarts(t *testing.T) {
	var all, offline int
	runs := 400
	if testing.Short() {
		runs = 60
	}
	for seed := range runs {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, uint64(seed))
			h.walk(&all, &offline)
			h.audit()
		})
	}
	t.Logf("%d subleases, %d of them of agents that began without their server", all, offline)
	if offline < runs {
		t.Error("so few show nothing")
	}
}

func (h *host) walk(all, offline *int) {
	h.start()
	defer h.end()
	h.loss = 4 + h.intN(20)
	for range 150 {
		synctest.Wait()
		if h.p.dead.Load() {
			if h.old != nil && h.intN(8) == 0 {
				_ = os.WriteFile(h.path, h.old, 0o600) // over the file that is there
			}
			h.start()
			continue
		}
		switch h.intN(20) {
		case 0, 1, 2, 3, 4, 5, 6:
			if h.holder() == nil {
				*all++
				if h.p.offline && h.away.Load() {
					*offline++
				}
			}
		case 7, 8, 9:
			h.renew()
		case 10, 11:
			h.release()
		case 12, 13:
			time.Sleep(time.Duration(h.intN(4000)) * time.Millisecond)
		case 14:
			h.away.Store(!h.away.Load())
		case 15:
			h.p.kill()
		case 16: // as by SIGTERM
			h.p.dead.Store(true)
			_ = h.p.Close(h.ctx())
			if err := h.p.a.state.close(); err != nil {
				h.Error(err)
			}
		case 17:
			h.rival()
		case 18:
			if n := len(h.p.subs); n > 0 {
				_ = h.p.subs[h.intN(n)].Lease().Close() // it is given back, or runs out
			}
		case 19:
			h.old, _ = os.ReadFile(h.path)
		}
	}
}

// A state counts for the agent with its lock, in the boot, the file and the machine where it was
// written, and while its grant lasts. Otherwise the server is asked, and nothing comes twice.
func TestStatesThatDoNotCount(t *testing.T) {
	rewrite := func(change func(c *content)) func(h *host) {
		return func(h *host) {
			data, err := os.ReadFile(h.path)
			if err != nil {
				h.Fatal(err)
			}
			var c content
			if err := json.Unmarshal(data[4:], &c); err != nil {
				h.Fatal(err)
			}
			change(&c)
			text, err := json.Marshal(c)
			if err != nil {
				h.Fatal(err)
			}
			sum := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(text))
			if err := os.WriteFile(h.path, append(sum, text...), 0o600); err != nil {
				h.Fatal(err)
			}
		}
	}
	edit := func(change func(b []byte) []byte) func(h *host) {
		return func(h *host) {
			data, err := os.ReadFile(h.path)
			if err == nil {
				err = os.WriteFile(h.path, change(data), 0o600)
			}
			if err != nil {
				h.Fatal(err)
			}
		}
	}
	counts := func(*host) {}
	for name, harm := range map[string]func(h *host){
		"as it is":           counts,
		"written once more":  rewrite(func(*content) {}),
		"of another form":    rewrite(func(c *content) { c.Place.Form++ }),
		"of another boot":    rewrite(func(c *content) { c.Place.Boot = "another" }),
		"of another lock":    rewrite(func(c *content) { c.Place.Lock[1]++ }),
		"of another device":  rewrite(func(c *content) { c.Place.File[0]++ }),
		"of another machine": func(h *host) { h.counter.Add(1) },
		"of another source":  rewrite(func(c *content) { c.About.Source = "there" }),
		"of another secret":  rewrite(func(c *content) { c.About.Scheme = "another" }),
		"without its lock": func(h *host) {
			if err := os.Remove(h.path + ".lock"); err != nil {
				h.Fatal(err)
			}
		},
		"copied and put back": func(h *host) {
			data, err := os.ReadFile(h.path)
			if err == nil {
				err = os.Remove(h.path)
			}
			if err == nil {
				err = os.WriteFile(h.path, data, 0o600)
			}
			if err != nil {
				h.Fatal(err)
			}
		},
		"of before the last renewal": func(h *host) {
			if err := os.WriteFile(h.path, h.old, 0o600); err != nil { // the number of the file stays
				h.Fatal(err)
			}
		},
		"damaged":   edit(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }),
		"truncated": edit(func(b []byte) []byte { return b[:len(b)/2] }),
		"empty":     edit(func([]byte) []byte { return nil }),
		"gone":      func(h *host) { _ = os.Remove(h.path) },
		"too late":  func(*host) { time.Sleep(lease.DefaultTTL + time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, 1)
				h.start()
				defer func() { h.end() }()
				for range 4 {
					if err := h.holder(); err != nil {
						t.Fatal(err)
					}
				}
				var err error
				if h.old, err = os.ReadFile(h.path); err != nil {
					t.Fatal(err)
				}
				time.Sleep(6 * time.Second) // the unit is renewed
				if err := h.holder(); err != nil {
					t.Fatal(err)
				}
				h.p.kill()
				before := h.last.Node &^ (hostUnit - 1)
				harm(h)
				h.away.Store(true)
				good := name == "as it is" || name == "written once more"
				goes := h.start() && h.holder() == nil
				if goes != good {
					t.Fatalf("without the server: %v", goes)
				}
				h.p.kill()
				h.away.Store(false)
				h.start()
				if err := h.holder(); err != nil {
					t.Error(err)
				}
				if now := h.last.Node &^ (hostUnit - 1); (now == before) != good && name != "too late" {
					t.Errorf("a node of unit %d after one of unit %d", now, before)
				}
				h.audit()
			})
		})
	}
}

// The nodes that were sublet begin where their subleases end or were released, the others at once.
func TestNodesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, 1)
		h.start()
		defer func() { h.end() }()
		for range 5 {
			if err := h.holder(); err != nil {
				t.Fatal(err)
			}
		}
		h.release()
		time.Sleep(11 * time.Second) // the unit is renewed, the holders are not
		for range 2 {
			if err := h.holder(); err != nil {
				t.Fatal(err)
			}
		}
		if h.p.a.keeps(h.ctx()) {
			t.Error("a stopped agent does not give its units back")
		}
		h.away.Store(true)
		if !h.p.a.keeps(h.ctx()) {
			t.Error("a stopped agent gives its units back, and the next one can get no others")
		}
		h.p.kill()
		h.start()
		for i := range hostUnit - 1 {
			if err := h.holder(); (err == nil) != (i < hostUnit-2) {
				t.Errorf("%d of %d: %v", i, hostUnit-2, err)
			}
		}
		h.p.kill()
		h.start()
		if err := h.holder(); !errors.Is(err, errAway) {
			t.Errorf("all nodes are held: %v", err)
		}
		h.audit()
	})
}

// One socket has one agent.
func TestTwoAgentsAtASocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, 1)
		h.start()
		defer func() { h.end() }()
		if _, err := openState(h.path, h.p.a.logger); err == nil {
			t.Error("a second agent")
		}
		if leadsTo(h.path+".lock", h.p.a.state.here.Lock) != nil || leadsTo(h.path+".lock", [2]uint64{1, 2}) == nil {
			t.Error("a lock that was replaced is not told from one that is there")
		}
	})
}

// Where the file cannot be written it is removed, and the agent goes on; where it cannot be removed
// either, no holder gets anything.
func TestStateThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, 1)
		h.start()
		defer func() { h.end() }()
		if err := h.holder(); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(h.path+newState, 0o700); err != nil { // in place of a full disk
			t.Fatal(err)
		}
		if err := h.holder(); err != nil {
			t.Errorf("an agent that can keep no state: %v", err)
		}
		if _, err := os.Stat(h.path); err == nil {
			t.Error("the older state is still there")
		}
		if err := os.MkdirAll(h.path+"/full", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := h.holder(); err == nil {
			t.Error("a node, and the state can neither be written nor removed")
		}
		if err := errors.Join(os.RemoveAll(h.path), os.Remove(h.path+newState)); err != nil {
			t.Fatal(err)
		}
		if err := h.holder(); err != nil {
			t.Error(err)
		}
		h.p.kill()
		h.away.Store(true)
		if !h.start() || h.holder() != nil {
			t.Error("a state that could be written again does not count")
		}
		h.audit()
	})
}

// spy is a server that looks at the file when it is asked.
type spy struct {
	wire.Server
	*host
	lost    bool // its answers
	file    content
	earlier []string
	used    int64
}

func (v *spy) look() {
	v.Helper()
	data, err := os.ReadFile(v.path)
	if err == nil {
		v.file = content{}
		err = json.Unmarshal(data[4:], &v.file)
	}
	if err != nil {
		v.Fatal(err)
	}
}

// Renew implements [wire.Server].
func (v *spy) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	v.look()
	v.earlier = earlier
	l, err := v.Server.Renew(ctx, t, attempt, earlier)
	if v.lost {
		return wire.Lease{}, errAway
	}
	return l, err
}

// Release implements [wire.Server].
func (v *spy) Release(ctx context.Context, t wire.Ticket, used int64) error {
	v.look()
	v.used = used
	return v.Server.Release(ctx, t, used)
}

// An attempt is in the file before it is sent, and the new ticket before it is used; so an agent
// renews what an earlier one renewed without an answer.
func TestUnitIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, 1)
		h.start()
		defer func() { h.end() }()
		v := &spy{Server: h.server, host: h, lost: true}
		u := &unit{state: h.p.a.state, source: v}
		r := wire.Request{Attempt: "acquired-by-one-agent", Label: "agent", Nodes: hostUnit}
		l, err := u.Acquire(h.ctx(), "jobs", r)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := u.Renew(h.ctx(), l.Ticket, "renewed-by-one-agent", nil); !errors.Is(err, errAway) {
			t.Fatal(err)
		}
		if one := v.file.Units; len(one) != 1 || !slices.Equal(one[0].Attempts, []string{"renewed-by-one-agent"}) {
			t.Errorf("sent before it was written: %+v", one)
		}
		h.p.kill()
		h.start()
		if u = h.p.a.state.resume(snowfence.NodeRange{}); u == nil {
			t.Fatal("nothing goes on")
		}
		u.source, v.lost = v, false
		k, err := u.Acquire(h.ctx(), "jobs", r)
		if err != nil || k.Grant != l.Grant || string(k.Ticket) != string(l.Ticket) {
			t.Fatalf("%+v and %+v, %v", l, k, err)
		}
		m, err := u.Renew(h.ctx(), k.Ticket, "renewed-by-the-next-one", nil)
		if err != nil || m.Grant.Until <= k.Grant.Until || !slices.Equal(v.earlier, []string{"renewed-by-one-agent"}) {
			t.Errorf("%+v, %v; earlier %q", m, err, v.earlier)
		}
		v.look()
		if one := v.file.Units; len(one) != 1 || string(one[0].Ticket) != string(m.Ticket) || one[0].Attempts != nil {
			t.Errorf("the file has %+v", one)
		}
		r.Attempt = "acquired-once-more"
		if n, err := u.Acquire(h.ctx(), "jobs", r); err != nil || n.Grant.Node == l.Grant.Node {
			t.Errorf("a lease that asks again gets the same: %+v, %v", n, err)
		}
	})
}

// A unit that is given back is in no file, and is given back above all that was sublet of it.
func TestUnitIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, 1)
		h.start()
		defer func() { h.end() }()
		v := &spy{Server: h.server, host: h}
		u := &unit{state: h.p.a.state, source: v}
		r := wire.Request{Attempt: "acquired-by-one-agent", Label: "agent", Nodes: hostUnit}
		l, err := u.Acquire(h.ctx(), "jobs", r)
		if err != nil {
			t.Fatal(err)
		}
		for i, end := range []int64{5, 90, 7} {
			if err := u.note(snowfence.Grant{Node: l.Grant.Node + int64(i), Until: l.Grant.From + end}); err != nil {
				t.Fatal(err)
			}
		}
		if err := u.Release(h.ctx(), l.Ticket, l.Grant.From); err != nil {
			t.Fatal(err)
		}
		if len(v.file.Units) != 0 || v.used != l.Grant.From+90 {
			t.Errorf("given back at %d, with %+v in the file", v.used-l.Grant.From, v.file.Units)
		}
		if u.note(l.Grant) == nil {
			t.Error("sublet after it was given back")
		}
	})
}
