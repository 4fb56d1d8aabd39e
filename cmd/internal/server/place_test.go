package server

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// crowd lets connections of one address in until one is refused, and
// returns those.
func crowd(m *Meter, address string, most int) (all []*Place) {
	for {
		p := m.Enter(&net.TCPAddr{IP: net.ParseIP(address)}, nil, most)
		if p == nil {
			return all
		}
		all = append(all, p)
	}
}

// One client took all connections of a server.
func TestOneClientLeavesPlaces(t *testing.T) {
	const most = 50
	m := new(Meter)
	first := crowd(m, "192.0.2.1", most)
	if n := len(first); n != 38 {
		t.Errorf("one address has %d of %d", n, most)
	}
	if p := m.Enter(&net.TCPAddr{IP: net.ParseIP("192.0.2.2")}, nil, most); p == nil {
		t.Error("another address finds no place")
	}
	for _, same := range []string{"::ffff:192.0.2.1", "192.0.2.1"} {
		if len(crowd(m, same, most)) > 0 {
			t.Errorf("%s is another client than 192.0.2.1", same)
		}
	}
	for _, p := range first {
		p.Leave()
		p.Leave()
	}
	if n := m.Connections.Load(); n != 1 || m.Refused.Load() != 3 {
		t.Errorf("%d connections, %d refused", n, m.Refused.Load())
	}
	if n := len(crowd(m, "2001:db8::1", most)) + len(crowd(m, "2001:db8::2", most)); n != 37 {
		t.Errorf("two addresses of one network have %d", n)
	}
}

// Programs of one machine share its address, and may have all places; their
// tokens may not.
func TestOneTokenLeavesPlaces(t *testing.T) {
	const most = 50
	m := new(Meter)
	all := crowd(m, "127.0.0.1", most)
	if len(all) != most {
		t.Fatalf("%d of %d", len(all), most)
	}
	for _, p := range all {
		if err := p.Claim(Open().Anyone()); err != nil || !p.Claimed() {
			t.Errorf("without tokens: %v", err)
		}
		p.Leave()
	}
	a := must(NewAuth([]Token{
		{Name: "shop", SHA256: strings.Repeat("1", 64)}, {Name: "cart", SHA256: strings.Repeat("2", 64)},
	}))
	shop, cart := a.tokens[0], a.tokens[1]
	own := 0
	for range most {
		p := m.Enter(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil, most)
		if err := p.Claim(shop); err == nil {
			own++
		} else if p.Leave(); KindOf(err) != TooMuch || !strings.Contains(err.Error(), `token "shop" has`) {
			t.Error(err)
		}
	}
	if own != 37 {
		t.Errorf("one token has %d of %d", own, most)
	}
	p := m.Enter(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil, most)
	wantErr(t, p.Claim(cart), nil, "another token")
	p.Leave()
	if by := m.places.by; m.places.total != int64(own) || by["token cart"] != 0 || by["token shop"] != int64(own) {
		t.Errorf("%+v", &m.places)
	}
}

// Large answers are refused while as many as are allowed are on their way.
// One client leaves room for another, and small answers need none.
func TestReserve(t *testing.T) {
	s := New(store.NewMemory(), Options{})
	first, second := &Caller{From: "192.0.2.1:1"}, &Caller{From: "192.0.2.2:1"}
	n := 0
	for ; s.Reserve(first, 1<<20) == nil; n++ {
	}
	if n < 190 || n > 194 {
		t.Errorf("one client has %d of 256 MB", n)
	}
	wantKind(t, s.Reserve(first, 1<<20), TooMuch)
	wantErr(t, s.Reserve(first, freeRoom), nil, "a small answer")
	wantErr(t, s.Reserve(second, 32<<20), nil, "another client")
	own := &Caller{From: "127.0.0.1:1"} // programs of this machine share its address
	wantKind(t, s.Reserve(own, 33<<20), TooMuch)
	s.Ended(first)
	s.Ended(second)
	if err := s.Reserve(own, MostRoom); err != nil || s.used.by["192.0.2.1"] != 0 {
		t.Errorf("room was not given back: %v", err)
	}
}

// A stream waits for its rate, and its token's other requests do not.
func TestStreamLeavesItsTokenOthers(t *testing.T) {
	a := must(NewAuth([]Token{{Name: "shop", SHA256: strings.Repeat("1", 64), Rate: 0.001, Burst: 10}}))
	ctx, cancel := context.WithCancel(t.Context())
	id := a.tokens[0]
	if n, err := id.Pace(ctx, 1000); n != 5 || err != nil {
		t.Errorf("the first piece: %d, %v", n, err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	fails(t, errOf(id.Pace(ctx, 1000)), "a stream takes what is for others")
	for range 5 {
		wantErr(t, id.Authorize(VerbIDs, "default", 1), nil, "another request")
	}
}

// Batches of all lengths, at once, each get IDs of their own.
func TestBatchesOfAllLengths(t *testing.T) {
	s := newService(t, newStore(t, "n"), Options{Lead: 1 << 20})
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			c := CallerOf(anyone(t.Context()))
			for _, n := range []int64{1, smallBatch, smallBatch + 1, 5000, 1024, 20_000, 3000} {
				o := Order{Namespace: "n", Count: n}
				err := s.IDs.Batch(t.Context(), c, o, func(ids []snowfence.ID) {
					mu.Lock()
					defer mu.Unlock()
					for _, id := range ids {
						if seen[id] {
							t.Errorf("%d twice", id)
						}
						seen[id] = true
					}
					if int64(len(ids)) != n {
						t.Errorf("%d IDs, not %d", len(ids), n)
					}
				})
				noError(t, err)
			}
		})
	}
	all.Wait()
	gone, cancel := context.WithCancel(anyone(t.Context()))
	cancel()
	use := func([]snowfence.ID) { t.Error("made for no caller") }
	fails(t, s.IDs.Batch(gone, CallerOf(gone), Order{Namespace: "n", Count: 10}, use), "a batch for who is gone")
}
