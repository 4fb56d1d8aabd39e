package kubestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

func open(t *testing.T, s *server) *Store {
	t.Helper()
	return must(New(s.config(), nil))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T) store.Store { return open(t, newServer(t)) }
	storetest.Run(t, each)
	storetest.RunCounts(t, each)
}

func record(nonce string) store.Record {
	k := store.Key{Namespace: "Max_1", Node: 5}
	return store.Record{Key: k, Nonce: nonce, Revision: 1, Holder: "h", Label: "pod-7"}
}

func swap(t *testing.T, st store.Store, old string, r store.Record) error {
	t.Helper()
	_, err := store.Put(t.Context(), st, store.Write{Old: old, New: r})
	return err
}

// on returns a condition that holds once, for a method on the record's
// object.
func on(method string) func(*http.Request) bool {
	done := false
	return func(r *http.Request) bool {
		hit := !done && r.Method == method &&
			(method == http.MethodPost || strings.HasSuffix(r.URL.Path, objectName(record("").Key)))
		done = done || hit
		return hit
	}
}

// What a person changes beside the record does not make a write fail; what
// another program writes does.
func TestConflicts(t *testing.T) {
	s := newServer(t)
	st := open(t, s)
	noError(t, swap(t, st, "", record("a")))
	if err := swap(t, st, "other", record("b")); !errors.Is(err, store.ErrLost) {
		t.Error("of another nonce: ", err)
	}
	s.during(on(http.MethodPut), func(o *object) { o.Metadata.Labels["seen-by"] = "me" })
	if err := swap(t, st, "a", record("b")); err != nil {
		t.Error("while somebody sets another label: ", err)
	}
	s.during(on(http.MethodPut), func(o *object) { *o = objectOf(record("c")) })
	if err := swap(t, st, "b", record("d")); !errors.Is(err, store.ErrLost) {
		t.Error("while another program writes: ", err)
	}
	if err := swap(t, st, "", record("e")); !errors.Is(err, store.ErrLost) {
		t.Error("a new record where there is one: ", err)
	}
}

// An object that always changes meanwhile is tried again after pauses,
// until the caller gives up.
func TestPausesBetweenConflicts(t *testing.T) {
	s := newServer(t)
	st := open(t, s)
	before := identity(t, st)
	noError(t, swap(t, st, "", record("a")))
	writes := 0
	s.during(func(r *http.Request) bool {
		if r.Method == http.MethodPut {
			writes++
		}
		return r.Method == http.MethodPut
	}, func(o *object) { o.Metadata.Labels = map[string]string{"seen-by": strconv.Itoa(writes)} })
	for name, call := range map[string]func(ctx context.Context) error{
		"a swap": func(ctx context.Context) error {
			_, err := store.Put(ctx, st, store.Write{Old: "a", New: record("b")})
			return err
		},
		"Suspect": func(ctx context.Context) error { return st.Suspect(ctx, before) },
		"a read after a restore": func(ctx context.Context) error {
			st.back = true
			_, err := store.Identity(ctx, st, "")
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		err := call(ctx)
		s.set(func() {
			if !errors.Is(err, context.DeadlineExceeded) || writes > 50 {
				t.Errorf("%s: %d writes: %v", name, writes, err)
			}
			writes = 0
		})
	}
}

// during changes the object of a request before the server carries it out.
func (s *server) during(hit func(*http.Request) bool, change func(*object)) {
	s.set(func() {
		s.answer = func(r *http.Request) *status {
			if hit(r) {
				return s.change(path.Base(r.URL.Path), change)
			}
			return nil
		}
	})
}

// change writes an object as another program does.
func (s *server) change(name string, change func(*object)) *status {
	o := s.objects[name]
	old := o.Metadata
	change(&o)
	o.Metadata.UID, o.Metadata.ResourceVersion = old.UID, old.ResourceVersion
	_, refusal := s.write(o, false)
	return refusal
}

// An object that is deleted while it is written does not come back, as by a
// PUT without UID.
func TestDeletedObject(t *testing.T) {
	s := newServer(t)
	st := open(t, s)
	noError(t, swap(t, st, "", record("a")))
	name, put := objectName(record("").Key), on(http.MethodPut)
	s.set(func() {
		s.answer = func(r *http.Request) *status {
			if put(r) {
				delete(s.objects, name)
			}
			return nil
		}
	})
	if err := swap(t, st, "a", record("b")); !errors.Is(err, store.ErrLost) {
		t.Error(err)
	}
	s.set(func() {
		if _, ok := s.objects[name]; ok {
			t.Error("the deleted object is back")
		}
	})
}

// After etcd was restored, a version can be from another write.
func TestVersionOfAnotherWrite(t *testing.T) {
	s := newServer(t)
	st := open(t, s)
	noError(t, swap(t, st, "", record("a")))
	s.set(func() {
		s.version--
		another := func(o *object) { *o = objectOf(record("b")) }
		if refusal := s.change(objectName(record("").Key), another); refusal != nil {
			t.Fatal(refusal)
		}
	})
	if err := swap(t, st, "a", record("c")); !errors.Is(err, store.ErrLost) {
		t.Error(err)
	}
}

// An answer that is lost leaves open whether the write was done. A proxy
// that sends a write twice does not make it a loss.
func TestLostAnswers(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		s := newServer(t)
		st := open(t, s)
		must(store.Identity(t.Context(), st, ""))
		old := ""
		if method == http.MethodPut {
			noError(t, swap(t, st, "", record("a")))
			old = "a"
		}
		s.set(func() { s.lose = on(method) })
		if err := swap(t, st, old, record("b")); err == nil || errors.Is(err, store.ErrLost) {
			t.Errorf("%s: the answer was lost: %v", method, err)
		}
		r, _, err := st.Get(t.Context(), []store.Key{record("").Key})
		if err != nil || r[0].Nonce != "b" {
			t.Errorf("%s: %+v, %v", method, r, err)
		}
		s.set(func() { s.answer = twice(s, on(http.MethodPut)) })
		if err := swap(t, st, "b", record("c")); err != nil {
			t.Errorf("%s: sent twice: %v", method, err)
		}
	}
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// twice carries out a write before it is carried out, as a proxy that sends
// it again.
func twice(s *server, hit func(*http.Request) bool) func(*http.Request) *status {
	return func(r *http.Request) *status {
		if !hit(r) {
			return nil
		}
		var first bytes.Buffer
		_, _ = first.ReadFrom(r.Body)
		r.Body = http.NoBody
		var o object
		if err := json.Unmarshal(first.Bytes(), &o); err != nil {
			return &status{code: 400, Message: err.Error()}
		}
		if _, refusal := s.write(o, false); refusal != nil {
			return refusal
		}
		_, refusal := s.write(o, false)
		return refusal
	}
}

// A version that falls means that etcd was restored: the identity changes
// for all, once.
func TestVersionFalls(t *testing.T) {
	s := newServer(t)
	st, other := open(t, s), open(t, s)
	must(st.ask(t.Context()))
	old := s.objects[idName] // of the snapshot
	noError(t, st.Suspect(t.Context(), old.identity()))
	before := identity(t, st)
	s.set(func() { s.version += 1000 })
	noError(t, swap(t, st, "", record("a")))
	if id := identity(t, other); id != before {
		t.Errorf("two programs see %q and %q", before, id)
	}
	second := record("2")
	second.Node++
	noError(t, swap(t, other, "", second))
	s.set(func() { s.version, s.objects[idName] = s.version-500, old })
	noError(t, swap(t, st, "a", record("b")))
	after := identity(t, st)
	if after == before || after == old.identity() {
		t.Error("the identity stayed over a fallen version")
	}
	if id := identity(t, other); id != after {
		t.Errorf("the other program sees %q, not %q", id, after)
	}
	noError(t, swap(t, other, "2", second))
	noError(t, swap(t, st, "b", record("c")))
	if err := st.noteVersion(version(2400), "2300"); err != nil { // a write that was sent before the restore ends late
		t.Fatal(err)
	}
	if id, others := identity(t, st), identity(t, other); id != after || others != after {
		t.Error("the identity changed twice")
	}
	s.set(func() { delete(s.objects, idName) })
	if id := identity(t, other); id == after {
		t.Error("the identity stayed after its object was deleted")
	}
}

func identity(t *testing.T, st *Store) string {
	t.Helper()
	id, err := store.Identity(t.Context(), st, "")
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	return id
}

// A program that only looks writes nothing.
func TestReadOnly(t *testing.T) {
	s := newServer(t)
	looks := must(New(s.config(), &Options{ReadOnly: true}))
	if _, _, err := looks.Get(t.Context(), []store.Key{record("").Key}); !errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
	st := open(t, s)
	noError(t, swap(t, st, "", record("a")))
	s.set(func() { s.sent = nil })
	if r, _, err := looks.Get(t.Context(), []store.Key{record("").Key}); err != nil || r[0].Label != "pod-7" {
		t.Error(r, err)
	}
	must(store.Ask(t.Context(), looks, ""))
	if err := swap(t, looks, "a", record("b")); !errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
	s.set(func() {
		for _, request := range s.sent {
			if !strings.HasPrefix(request, "GET") {
				t.Error("a program that looks sent ", request)
			}
		}
	})
}

// The errors of the API server say what to do. A 404 of a proxy does not
// say that a record is gone.
func TestRefusals(t *testing.T) {
	s := newServer(t)
	st := open(t, s)
	noError(t, swap(t, st, "", record("a")))
	for want, answer := range map[string]status{
		"get a new one":                        {code: 401, Reason: "Unauthorized", Message: "Unauthorized"},
		"--verb=get,list,create,update":        {code: 403, Reason: "Forbidden", Message: `leases is forbidden: User "u" cannot get`},
		"did nothing":                          {code: 429, Reason: "TooManyRequests", Message: "too many requests"},
		"503 ServiceUnavailable: etcd is gone": {code: 503, Reason: "ServiceUnavailable", Message: "etcd is gone"},
		"404 page not found":                   {code: 404, Message: "404 page not found"},
		"the requested resource":               {code: 404, Reason: "NotFound", Message: "cannot find the requested resource"},
	} {
		if answer.code == http.StatusForbidden {
			answer.Details.Name = objectName(record("a").Key) // as real ones do
		}
		s.set(func() { s.answer = func(*http.Request) *status { return &answer } })
		err := swap(t, st, "a", record("b"))
		if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, which should say %q", err, want)
		}
	}
	s.Close()
	if _, _, err := st.Heads(context.Background()); err == nil {
		t.Error("a server that is gone answered")
	}
}

// An object of another program under a name of ours is an error, and is not
// written over.
func TestForeignObject(t *testing.T) {
	s := newServer(t)
	st := open(t, s)
	noError(t, swap(t, st, "", record("a")))
	s.set(func() { s.change(objectName(record("").Key), func(o *object) { o.Metadata.Annotations = nil }) })
	for _, err := range []error{swap(t, open(t, s), "a", record("b")), swap(t, open(t, s), "", record("b"))} {
		if err == nil || !strings.Contains(err.Error(), "was not made by this store") {
			t.Error(err)
		}
	}
}

// What Kubernetes allows: k8s.io/apimachinery/pkg/util/validation.
var (
	subdomain  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`)
)

// Names of objects and labels are what Kubernetes allows, and differ where
// keys do.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, ns := range []string{
		"default", "x", "X", "x58", "-", "a-", "a-b", "a.b", "a_b", "#orders", "ä",
		strings.Repeat("Z", 64), strings.Repeat("-", 64),
	} {
		for _, node := range []int64{0, 1, -1, -2, 1 << 40, -1 << 50} {
			k := store.Key{Namespace: ns, Node: node}
			name, label := objectName(k), labelOf(ns)
			if other, ok := seen[name]; ok {
				t.Errorf("%v and %s are %s", k, other, name)
			}
			seen[name] = ns
			if len(name) > 253 || !subdomain.MatchString(name) || len(label) > 63 || !labelValue.MatchString(label) {
				t.Errorf("%v: name %q, label %q", k, name, label)
			}
			r := store.Record{Key: k, Nonce: "n"}
			if got, err := objectOf(r).record(); err != nil || got != r {
				t.Errorf("%+v became %+v, %v", r, got, err)
			}
		}
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends the test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
