package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// clocked is a store with a clock of its own.
type clocked struct {
	store.Store
	now time.Time
	err error
}

func (s clocked) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	rs, _, err := s.Store.Get(ctx, keys)
	return rs, store.Reply{Now: s.now}, errors.Join(err, s.err)
}

// stored returns a store in memory with the namespace default.
func stored(t *testing.T) *store.Memory {
	t.Helper()
	st := store.NewMemory()
	s := tests.Must(snowfence.NewScheme(snowfence.Default()))
	tests.Must(scope.Namespaces(st).Create(t.Context(), "default", s, nil))
	return st
}

// look returns the results with a name.
func look(t *testing.T, st store.Store, now time.Time, name string) (of []Result) {
	t.Helper()
	c := &Case{Now: func() time.Time { return now }, Store: &open.Store{Leases: st, Name: "test:"}, Flags: " --store X"}
	for _, r := range Look(t.Context(), c, nil) {
		if r.Name == name {
			of = append(of, r)
		}
	}
	return of
}

func expect(t *testing.T, got []Result, state State, text string) {
	t.Helper()
	if len(got) != 1 || got[0].State != state || !strings.Contains(got[0].Text, text) ||
		(got[0].Cure == "") != (state != Found) {
		t.Errorf("%+v, want one %s with %q", got, state, text)
	}
}

func TestClockOffset(t *testing.T) {
	st := stored(t)
	for _, test := range []struct {
		store clocked
		state State
		text  string
	}{
		{clocked{st, start.Add(300 * time.Millisecond), nil}, Good, "300ms behind"},
		{clocked{st, start.Add(-time.Minute), nil}, Found, "1m0s ahead of"},
		{clocked{st, start.Add(2 * time.Second), nil}, Found, "2s behind"},
		{clocked{st, time.Time{}, nil}, NotChecked, "no clock"},
		{clocked{st, start, errors.New("no answer")}, NotChecked, "no answer"},
	} {
		expect(t, look(t, test.store, start, ClockOffset), test.state, test.text)
	}
}

func TestLayoutEnds(t *testing.T) {
	st := stored(t)
	end := snowfence.Default().EndOfLife()
	expect(t, look(t, st, start, LayoutEnds), Good, "days are left")
	expect(t, look(t, st, end.Add(-100*24*time.Hour), LayoutEnds), Found, "100 days are left")
	expect(t, look(t, st, end, LayoutEnds), Found, "no ID can be made")
}

// write puts the record of a node into a store.
func write(t *testing.T, st store.Store, r store.Record) {
	t.Helper()
	r.Key = store.Key{Namespace: "default", Node: 7}
	r.Nonce, r.Revision, r.Generation, r.Holder, r.Label = "n", 1, 1, "x", "shop"
	tests.Must(store.Put(t.Context(), st, store.Write{New: r}))
}

func TestHolders(t *testing.T) {
	l := snowfence.Default()
	for _, test := range []struct {
		written time.Time // of a grant of 15 s
		late    State
		clock   State
	}{
		{start, Good, Good},
		{start.Add(-6 * time.Second), Good, Good},
		{start.Add(-11 * time.Second), Found, Good},
		{start.Add(-16 * time.Second), Good, Good}, // it has no holder
		{start.Add(5 * time.Second), Good, Found},
	} {
		st := stored(t)
		write(t, st, store.Record{At: test.written.UnixMilli(), Until: l.TickOf(test.written.Add(15 * time.Second))})
		late, clock := look(t, st, start, HolderLate), look(t, st, start, HolderClock)
		if len(late) != 1 || len(clock) != 1 || late[0].State != test.late || clock[0].State != test.clock {
			t.Errorf("written %v after now: %+v, %+v", test.written.Sub(start), late, clock)
		}
	}
}

func TestFileSystem(t *testing.T) {
	for kind, state := range map[string]State{
		"ext4": Good, "xfs": Good, "tmpfs": Found, "overlay": Found, "": NotChecked,
	} {
		r := &report{}
		judgeFileSystem("/data/ids.db", kind, r)
		if len(r.results) != 1 || r.results[0].State != state {
			t.Errorf("%q: %+v, want %s", kind, r.results, state)
		}
	}
}

// A device that programs may not read is a finding, and none is not.
func TestMachineCopies(t *testing.T) {
	for _, c := range []struct {
		err   error
		state State
		text  string
	}{
		{nil, Good, "when it resumed this machine"},
		{&fs.PathError{Op: "open", Path: "/dev/vmclock0", Err: fs.ErrPermission}, Found, "may not read"},
		{&fs.PathError{Op: "open", Path: "/dev/vmclock0", Err: fs.ErrNotExist}, Good, "do not resume it twice"},
	} {
		r := &report{}
		judgeVMClock(c.err, r)
		expect(t, r.results, c.state, c.text)
	}
}

// A store that cannot be opened leaves nothing that is called good but what
// needs no store.
func TestNothingIsGoodUnseen(t *testing.T) {
	c := &Case{Now: time.Now, StoreErr: errors.New("refused")}
	for _, r := range Look(t.Context(), c, nil) {
		if r.State == Good && r.Name != ClockSync && r.Name != MachineCopies {
			t.Errorf("%+v", r)
		}
	}
}

// Doctor called every version of etcd new enough, and its settings good,
// without a look.
func TestServersThatAreTooOldAreNotGood(t *testing.T) {
	of := func(list ...open.Finding) map[string]State {
		r := &report{}
		judgeSettings(&Case{Store: &open.Store{Name: "test:"}}, r, list)
		states := map[string]State{}
		for _, x := range r.results {
			states[x.Name] = x.State
			if (x.Cure == "") != (x.State != Found) {
				t.Errorf("%+v", x)
			}
		}
		return states
	}
	for _, c := range []struct {
		name, value string
		want        State
	}{
		{"etcd_version", "3.3.27", Found},
		{"etcd_version", "2.9.0", Found},
		{"etcd_version", "3.4.0", Found},
		{"etcd_version", "3.4.20", Found},
		{"etcd_version", "3.4.21", Good},
		{"etcd_version", "3.5.0", Found},
		{"etcd_version", "3.5.4", Found},
		{"etcd_version", "3.5.5", Good},
		{"etcd_version", "3.6.0", Good},
		{"etcd_version", "4.0.0-rc.1", Good},
		{"etcd_version", "unknown", NotChecked},
		{"redis_version", "6.0.16", Found},
		{"redis_version", "7.0.15", Good},
		{"server_version", "15.10 (Debian)", Good}, // older ones are refused
	} {
		got := of(open.Finding{Name: c.name, Value: c.value})
		if got[StoreVersion] != c.want || got[StoreDurability] != NotChecked || got[StoreRights] != NotChecked {
			t.Errorf("%s %s: %v", c.name, c.value, got)
		}
	}
	if got := of(); got[StoreVersion] != NotChecked {
		t.Errorf("a server without a version: %v", got)
	}
}

func TestPageListsAllNames(t *testing.T) {
	page := tests.Must(os.ReadFile("../../../docs/operate/doctor.md"))
	for _, name := range Names() {
		if !strings.Contains(string(page), "\n- `"+name+"`: ") {
			t.Errorf("the page has no line for %s", name)
		}
	}
	if n := strings.Count(string(page), "\n- `"); n != len(Names()) {
		t.Errorf("the page has %d names, and there are %d", n, len(Names()))
	}
}

// A namespace whose holders all lost their leases looked unused.
func TestRenewalsFail(t *testing.T) {
	l := snowfence.Default()
	for _, test := range []struct {
		ended time.Duration // before now; negative is not yet
		state State
	}{{-time.Second, Good}, {time.Second, Found}, {59 * time.Minute, Found}, {time.Hour, Good}} {
		st := stored(t)
		write(t, st, store.Record{At: start.UnixMilli(), Until: l.TickOf(start.Add(-test.ended))})
		if got := look(t, st, start, RenewalsFail); len(got) != 1 || got[0].State != test.state {
			t.Errorf("ended %v ago: %+v", test.ended, got)
		}
	}
}

// What servers say of themselves is seen, and so is silence.
func TestServers(t *testing.T) {
	st := stored(t)
	expect(t, look(t, st, start, ServerNotReady), Good, "no server")
	now := time.Now()
	r := store.Record{Key: store.Key{Namespace: store.Servers}, Label: "web"}
	for _, test := range []struct {
		ago   time.Duration
		data  string
		state State
		text  string
	}{
		{time.Second, `{"ready":true}`, Good, "it is ready"},
		{time.Second, `{}`, Found, "says that it is not ready"},
		{40 * time.Second, `{"ready":true}`, Found, "s ago and writes every 20 s"},
		{2 * time.Minute, `{"ready":true}`, Good, "no server"},
	} {
		old := r.Nonce
		r.Nonce, r.At, r.Data = test.data+test.ago.String(), now.Add(-test.ago).UnixMilli(), test.data
		tests.Must(store.Put(t.Context(), st, store.Write{Old: old, New: r}))
		expect(t, look(t, st, now, ServerNotReady), test.state, test.text)
	}
	old := r.Nonce
	r.Nonce, r.At, r.Data = "f", now.UnixMilli(), `{"ready":true,"failing":["orders"]}`
	tests.Must(store.Put(t.Context(), st, store.Write{Old: old, New: r}))
	got := look(t, st, now, ServerNotReady)
	if len(got) != 2 || got[1].State != Found || !strings.Contains(got[1].Text, `namespace "orders"`) {
		t.Errorf("%+v", got)
	}
}

// A disk that was full was seen in the error of a program only.
func TestDiskFull(t *testing.T) {
	for free, state := range map[int64]State{leastFree: Good, leastFree - 1: Found} {
		r := &report{}
		judgeSpace("ids.db", free, r)
		if len(r.results) != 1 || r.results[0].State != state {
			t.Errorf("%d: %+v", free, r.results)
		}
	}
	r := &report{}
	space(t.Context(), &Case{StateDir: filepath.Join(t.TempDir(), "missing")}, r)
	expect(t, r.results, NotChecked, "")
	r = &report{}
	space(t.Context(), &Case{StateDir: t.TempDir()}, r)
	if runtime.GOOS == "linux" && r.results[0].State == NotChecked {
		t.Errorf("%+v", r.results)
	}
}

// A held unit has all its nodes. Where all nodes of a layout can be leased,
// the cure is another layout.
func TestUnitsThatAreLeft(t *testing.T) {
	st, l := store.NewMemory(), snowfence.Default()
	s := tests.Must(snowfence.NewScheme(l))
	tests.Must(scope.Namespaces(st).Create(t.Context(), "default", s, &scope.NamespaceOptions{Unit: 512}))
	for node := int64(0); node < s.Nodes(); node += 512 {
		tests.Must(store.Put(t.Context(), st, store.Write{New: store.Record{
			Key: store.Key{Namespace: "default", Node: node}, Nonce: "n", Revision: 1, Generation: 1, Holder: "x",
			At: start.UnixMilli(), Until: l.TickOf(start.Add(15 * time.Second)),
		}}))
	}
	left := look(t, st, start, NodesLeft)
	expect(t, left, Found, "all 1024 nodes are taken")
	if cure := left[0].Cure; !strings.Contains(cure, "more node bits") || strings.Contains(cure, "leasable") {
		t.Error(cure)
	}
}
