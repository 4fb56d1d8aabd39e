package remote

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// An identity is told only if it was read after every swap that was answered: not where
// answers overtook each other, not after a while, and not of another namespace.
func TestKnownIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k identityCache
		write := func(names ...string) (ws []lease.Write) {
			for _, name := range names {
				ws = append(ws, lease.Write{New: lease.Record{Key: lease.Key{Namespace: name}}})
			}
			return ws
		}
		wants := func(what, name, want string) {
			t.Helper()
			if id, ok := k.identity(name); ok != (want != "") || id != want {
				t.Errorf("%s: %q of namespace %s, want %q", what, id, name, want)
			}
		}
		wants("before any swap", "a", "")
		k.learn(k.begin(), write("a", "b", "a", "c"), []string{"a1", "b1"})
		wants("after a swap", "a", "a1")
		wants("the second namespace", "b", "b1")
		wants("one that the server did not tell", "c", "")
		wants("another one", "d", "")

		first, second := k.begin(), k.begin()
		wants("while swaps are under way, of what was answered before", "a", "a1")
		k.learn(second, write("a"), []string{"a2"})
		wants("of the one that came first", "a", "a2")
		k.learn(first, write("a"), []string{"a1"}) // it may have been read before the other swap
		wants("after answers that overlapped", "a", "")
		k.learn(k.begin(), write("a"), []string{"a3"})
		wants("after a swap that was alone", "a", "a3")
		k.learn(k.begin(), write("b"), nil)
		wants("after one whose server told nothing", "a", "")

		k.learn(k.begin(), write("a"), []string{"a4"})
		time.Sleep(identityFor)
		wants("after a while", "a", "")
	})
}

// The store's time goes on with this machine's monotonic time, from answers that came
// soon, for a minute, and as long as the wall clock goes along.
func TestClockGoesOn(t *testing.T) {
	theirs := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var c clock
	asked := time.Now()
	if _, ok := c.now(asked); ok {
		t.Error("a time of nobody")
	}
	c.set(asked, asked.Add(clockTrip), theirs)
	wants := func(what string, here time.Time, want time.Duration, ok bool) {
		t.Helper()
		if now, got := c.now(here); got != ok || ok && !now.Equal(theirs.Add(want)) {
			t.Errorf("%s: %v, %v", what, now, got)
		}
	}
	half := clockTrip / 2 // by when the server is taken to have answered
	wants("at once", asked.Add(clockTrip), half, true)
	wants("later", asked.Add(half+clockFor), clockFor, true)
	wants("much later", asked.Add(half+clockFor+1), 0, false)
	wants("before", asked, 0, false)
	for _, step := range []time.Duration{time.Hour, -time.Hour, 2 * clockStep, -2 * clockStep} {
		c.wall = asked.Add(half - step).Round(0)
		wants("after a step of the wall clock", asked.Add(time.Second), 0, false)
	}
	c.wall = asked.Add(half).Round(0)
	wants("when it has gone back", asked.Add(half+time.Second), time.Second, true)
	c.set(asked, asked.Add(clockTrip+1), theirs)
	wants("after a long round trip", asked.Add(clockTrip+1), 0, false)
	c.set(asked, asked, time.Time{})
	if now, ok := c.now(asked.Add(time.Second)); !ok || !now.IsZero() {
		t.Errorf("a store without a time: %v, %v", now, ok)
	}
}
