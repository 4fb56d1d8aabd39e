//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// way is one in which older data comes under a store. begin starts a store,
// and returns how it is reached. save keeps its data of this moment, and
// back puts that under the store.
type way struct {
	store, name string
	begin       func(t testing.TB) (url string, save func() (back func()))
}

// runs says which program looks at the store while it goes back.
var runs = []string{"a holder runs", "a server runs", "nothing runs"}

// seenBack are the cells of the matrix.
type seenBack struct {
	mu    sync.Mutex
	cells map[[2]string][3]string // by store and way
}

// TestGoingBack puts older data under stores in every way there is. It
// prints who notices, and compares that with docs/choose/stores.md. Whoever
// noticed, "snowfence store restored" has grants begin above what the store
// has forgotten.
func TestGoingBack(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/choose/stores.md")
	must(t, err)
	m := seenBack{cells: map[[2]string][3]string{}}
	t.Run("ways", func(t *testing.T) {
		for i, w := range ways {
			short := i < len(allOpen) && i == slices.IndexFunc(ways, func(x way) bool { return x.store == w.store })
			for who := range runs {
				if !*long && (!short || who == 1) {
					continue
				}
				t.Run(w.store+" "+w.name+" "+runs[who], func(t *testing.T) {
					t.Parallel()
					saw := w.saw(t, who)
					m.mu.Lock()
					defer m.mu.Unlock()
					row := m.cells[[2]string{w.store, w.name}]
					row[who] = saw
					m.cells[[2]string{w.store, w.name}] = row
				})
			}
		}
	})
	var text strings.Builder
	fmt.Fprintf(&text, "\n| store | what was restored | %s |\n|---|---|---|---|---|\n", strings.Join(runs, " | "))
	for _, w := range ways {
		row := m.cells[[2]string{w.store, w.name}]
		fmt.Fprintf(&text, "| %s | %s | %s |\n", w.store, w.name, strings.Join(row[:], " | "))
		for who, saw := range row {
			said := promised(string(page), w.store, w.name, who)
			if said == "" || saw != "" && said != saw {
				t.Errorf("%s, %s, %s: %s; docs/choose/stores.md says %q", w.store, w.name, runs[who], saw, said)
			}
		}
	}
	t.Log(text.String())
	seen.matrix = text.String()
}

// promised returns what the page says of a way in the row of its store: the
// columns are noticed in each case, noticed unless nothing runs, and the
// rest.
func promised(page, store, name string, who int) string {
	for line := range strings.Lines(page) {
		row := strings.Split(line, "|")
		if len(row) != 6 || strings.TrimSpace(row[1]) != store {
			continue
		}
		for i, ways := range row[2:5] {
			for entry := range strings.SplitSeq(ways, ";") {
				way, saw, _ := strings.Cut(strings.TrimSpace(entry), ": ")
				if way != name {
					continue
				}
				saw = []string{"noticed", "noticed, noticed, no", saw}[i]
				cases := strings.Split(saw, ", ")
				return cases[min(who, len(cases)-1)]
			}
		}
	}
	return ""
}

const (
	cell   = "ids" // the namespace: a server holds no lease in it
	victim = 3     // node whose last grant is forgotten
	ahead  = 10 * time.Minute
)

// saw plays one cell. All that was granted lasts for minutes, so how long
// the steps take decides nothing.
func (w way) saw(t *testing.T, who int) string {
	var save func() func()
	var url string
	ownDisk(t, func() { url, save = w.begin(t) })
	makeAgain(t, url)
	take(t, url, true)
	var renewed func() bool
	acquire := func() (snowfence.Grant, error) { return take(t, url, false) }
	switch who {
	case 0:
		renewed = holder(t, url)
	case 1:
		renewed, acquire = server(t, url)
	default:
		renewed = func() bool { return true }
	}
	var back func()
	ownDisk(t, func() { back = save() })
	renewed() // since when counts from here
	within(t, patience, runs[who]+" and has written since", renewed)
	var lost, next snowfence.Grant
	var err error
	fleet.Eventually(t, "a grant that the copy lacks", func() error { // a busy machine answers late
		lost, err = acquire()
		return err
	})
	back()
	if who == 0 {
		renewed()
		within(t, patience, "the holder has asked the store since", renewed)
	}
	fleet.Eventually(t, "the store grants again, or is refused", func() error {
		if next, err = acquire(); err == nil || refused.MatchString(err.Error()) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Log(err)
		return "refused"
	}
	tests.Run(t, exec.Command(servers.Program(t, servers.Snowfence), "store", "restored", "--store",
		url))
	var later snowfence.Grant
	fleet.Eventually(t, "a grant after \"store restored\"", func() (err error) { // a busy machine answers late
		later, err = take(t, url, false)
		return err
	})
	if later.From < max(lost.Until, next.Until) {
		t.Errorf("after \"store restored\" %+v is granted, and was %+v, then %+v", later, lost, next)
	}
	if next.From < lost.Until {
		return "no"
	}
	return "noticed"
}

// refused are what programs say of a store that they do not use, or no
// longer.
var refused = regexp.MustCompile(`UNLOGGED|the store was replaced|no such namespace|changed by something else`)

// opened opens the store of a cell.
func opened(t testing.TB, url string) (store.Store, func() error) {
	t.Helper()
	st, done, err := kinds.Open(url, time.Second)
	must(t, err)
	return st, done
}

// makeAgain makes the namespace where it is missing.
func makeAgain(t testing.TB, url string) {
	t.Helper()
	st, done := opened(t, url)
	defer done()
	within(t, patience, "the namespace", func() bool {
		_, err := scope.Namespaces(st).Create(t.Context(), cell, fleet.Scheme(t, "twitter"),
			&scope.NamespaceOptions{MaxTTL: ahead, MaxSkew: ahead})
		return err == nil
	})
}

// take leases the victim's node as a new program does, which then is
// killed, or gives it back.
func take(t testing.TB, url string, back bool) (snowfence.Grant, error) {
	t.Helper()
	st, done := opened(t, url)
	defer done()
	node := int64(victim)
	o := &lease.Options{Node: &node, TTL: ahead, Label: "worker"}
	l, err := lease.Open(t.Context(), st, cell, fleet.Scheme(t, "twitter"), o)
	if err != nil {
		return snowfence.Grant{}, err
	}
	g := l.Status().Grant
	if back {
		return g, l.Close()
	}
	l.Orphan()
	return g, nil
}

// holder runs a lease beside. The function that it returns reports whether
// the lease was renewed, or has ended, after it was called last.
func holder(t testing.TB, url string) func() bool {
	st, done := opened(t, url)
	node := int64(victim + 2)
	var lost atomic.Bool
	l, err := lease.Open(t.Context(), st, cell, fleet.Scheme(t, "twitter"), &lease.Options{
		Node: &node, TTL: ttl,
		Events: func(e lease.Event) {
			if e.Kind == lease.EventLost {
				lost.Store(true)
			}
		},
	})
	must(t, err)
	t.Cleanup(func() { l.Orphan(); <-l.Done(); _ = done() })
	var before time.Time
	return func() bool {
		s := l.Status()
		was := before
		if gone := l.Err() != nil || lost.Load(); gone || s.Trouble == nil && s.Renewed.After(before) {
			before = time.Now()
			return gone || !was.IsZero()
		}
		return false
	}
}

// server runs "snowfence serve". It returns whether the server wrote its
// own record since the last call, and how a node is leased over it.
func server(t testing.TB, url string) (func() bool, func() (snowfence.Grant, error)) {
	st, done := opened(t, url)
	t.Cleanup(func() { _ = done() })
	_, address := servers.Serve(t, url)
	var before int64
	written := func() bool {
		rs, _, err := st.Get(t.Context(), []store.Key{{Namespace: "##servers"}})
		if err != nil || rs[0].Revision <= before {
			return false
		}
		before = rs[0].Revision
		return true
	}
	within(t, patience, "the server has a record", written)
	return written, func() (g snowfence.Grant, err error) {
		body, _ := json.Marshal(map[string]any{
			"namespace": cell, "label": "worker", "ttl": fmt.Sprintf("%.0fs", ahead.Seconds()), "node": strconv.Itoa(victim),
		})
		_, text, err := servers.Ask(t.Context(), http.DefaultClient, http.MethodPost,
			"http://"+address+"/snowfence.v1.LeaseService/Acquire", string(body), "Content-Type: application/json")
		if err != nil {
			return g, err
		}
		var a struct{ From, Until string }
		err = json.Unmarshal([]byte(text), &a)
		g.From, _ = strconv.ParseInt(a.From, 10, 64)
		g.Until, _ = strconv.ParseInt(a.Until, 10, 64)
		return g, err
	}
}
