package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// The numbers of a grant that another one replaced are free, above what was used.
func TestGrantInPlaceOfAnother(t *testing.T) {
	r, clk := newRegistry(), newClock()
	var s seen
	f := grants(t, bwmarrin, 5, clk)
	h := on(t, r, f, Options{Time: clk.now, Lead: 10})
	for range 4096 * 5 { // 4 ticks ahead
		s.add(t, must(t, h))
	}
	first := f.grant
	wall := first.Until
	clk.advance(time.Minute - time.Millisecond)
	f.set(func(f *granting) { f.grant.Node, f.grant.From, f.grant.Until = 7, wall, wall+60_000 })
	clk.advance(2 * time.Millisecond)
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.add(t, id)
	if p, _ := f.scheme.Decode(id); p.Node != 7 {
		t.Errorf("an ID of node %d", p.Node)
	}
	_, err = r.open(f.scheme, 7, Options{Time: clk.now})
	refused(t, "the node of the new grant", err)
	clk.step(-time.Minute)
	old := open(t, r, bwmarrin, 5, Options{Time: clk.now})
	for range 10 {
		clk.advance(time.Millisecond)
		if id, err := old.TryNext(); err == nil {
			s.add(t, id)
		}
	}
	closed(t, h)
	f.gaveBack(t)
}

// A fence that grants another node at each question is asked no more often for it.
func TestFenceThatAlwaysGrantsAnother(t *testing.T) {
	r, clk := newRegistry(), newClock()
	var s seen
	f := grants(t, bwmarrin, 1, clk)
	asked := 0
	f.each = func(gr *snowfence.Grant) {
		if asked++; asked > 1000 {
			return // a caller that asks again and again gets to an end
		}
		wall, _ := clk.now()
		now := f.scheme.Layout().TickOf(wall)
		gr.Node, gr.From, gr.Until = gr.Node+1, now, now+2
	}
	h := on(t, r, f, Options{Time: clk.now})
	for range 50 {
		id, err := h.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, id)
		clk.advance(2 * time.Millisecond)
		f.set(func(f *granting) { f.grant.Until += 10 })
	}
	if asked > 150 {
		t.Errorf("for 50 grants it was asked %d times", asked)
	}
}

// A first grant that is taken back at once leaves its numbers to others.
func TestFirstGrantTakenBack(t *testing.T) {
	r, clk := newRegistry(), newClock()
	f := grants(t, bwmarrin, 5, clk)
	taken := &takenBack{granting: f}
	if _, err := r.on(taken, Options{Time: clk.now}); !errors.Is(err, snowfence.ErrFenced) {
		t.Errorf("%v", err)
	}
	must(t, open(t, r, bwmarrin, 5, Options{Time: clk.now}))
}

// takenBack takes each grant back while it hands it over.
type takenBack struct{ *granting }

func (f *takenBack) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	gr, err := f.granting.Grant(ctx, after)
	f.seal()
	return gr, err
}

// A fence that does not answer keeps nobody from the number after Close, also if it
// answers later.
func TestCloseOverAFenceThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, clk := newRegistry(), newClock()
		clk.wall = time.Now()
		f := &silent{granting: grants(t, bubble, 5, clk), answer: make(chan struct{})}
		h := on(t, r, f, Options{Time: clk.now}) // it uses nothing, so the answer renews its grant
		clk.advance(2 * time.Minute)             // which is over
		go h.Next(t.Context())
		synctest.Wait()
		if err := h.Close(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		closed(t, open(t, r, bubble, 5, Options{Time: clk.now}))
		f.set(func(f *granting) { f.grant.Until += 600_000 })
		close(f.answer)
		synctest.Wait()
		closed(t, open(t, r, bubble, 5, Options{Time: clk.now}))
	})
}

// silent grants once, and then nothing until it may answer.
type silent struct {
	*granting
	answer chan struct{}
	asked  bool
}

func (f *silent) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	if f.asked {
		<-f.answer
	}
	f.asked = true
	return f.granting.Grant(ctx, after)
}

func (f *silent) Held(int64) (snowfence.Grant, bool) { return snowfence.Grant{}, false }

// A fence that has the same grant again after a loss uses it above what was used, and
// nobody else does.
func TestSameGrantAfterALoss(t *testing.T) {
	r, clk := newRegistry(), newClock()
	var s seen
	o := Options{Time: clk.now}
	f := grants(t, bwmarrin, 5, clk)
	h := on(t, r, f, o)
	s.add(t, must(t, h))
	f.lose()
	f.set(func(f *granting) { f.gone = false })
	clk.advance(time.Millisecond)
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.add(t, id)
	_, err = r.open(f.scheme, 5, o)
	refused(t, "beside it", err)
}

// A grant that is lost between the seal of the one before and its own use is not used,
// nor is one that ends too soon.
func TestLossBetweenSealAndUse(t *testing.T) {
	for name, happens := range map[string]func(f *granting, known *fenced) (after int64){
		"lost":          func(f *granting, _ *fenced) int64 { f.lose(); return f.grant.From },
		"ends too soon": func(f *granting, _ *fenced) int64 { return f.grant.Until },
	} {
		r, clk := newRegistry(), newClock()
		f := grants(t, bwmarrin, 5, clk)
		h := on(t, r, f, Options{Time: clk.now})
		must(t, h)
		for known := range r.spaces[key(t, bwmarrin)].fenced {
			f.set(func(f *granting) { f.grant.Node = 6 })
			if _, ok := known.Held(f.grant.From); !ok || known.ready == nil {
				t.Fatalf("%s: no new grant", name)
			}
			after := happens(f, known)
			if gr, ok := known.Held(after); ok {
				t.Errorf("%s: %+v", name, gr)
			}
		}
		closed(t, h)
	}
}
