package lease_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// in2026 moves the clock of the bubble past the epoch of the layouts.
func in2026() { time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) }

// opened opens a generator, makes an ID and closes it, and returns what the
// ID says.
func opened(t *testing.T, st store.Store, o *lease.Options) error {
	t.Helper()
	g, err := lease.Generator(t.Context(), st, o)
	if err != nil {
		return err
	}
	must(g.Next(t.Context()))
	wantErr(t, g.Close(), nil, "closed")
	return nil
}

// TestGenerator makes the namespace default, and takes what is there with
// the layout that it has.
func TestGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st := store.NewMemory()
		noError(t, opened(t, st, nil))
		layout := func(name string) string {
			ns := must(scope.Namespaces(st).Show(t.Context(), name))
			return ns.Layout.String()
		}
		if l := layout("default"); l != snowfence.Default().String() {
			t.Errorf("default has the layout %s", l)
		}
		err := opened(t, st, &lease.Options{Namespace: "orders"})
		wantErr(t, err, lease.ErrNoNamespace, "a namespace of another name")
		if err := opened(t, st, &lease.Options{
			Namespace: "orders", Layout: snowfence.MustLayout("sonyflake"), Create: true,
		}); err != nil {
			t.Error(err)
		}
		if l := layout("orders"); l != snowfence.MustLayout("sonyflake").String() {
			t.Errorf("orders has the layout %s", l)
		}
		for _, l := range []snowfence.Layout{{}, snowfence.MustLayout("sonyflake")} {
			if err := opened(t, st, &lease.Options{Namespace: "orders", Layout: l}); err != nil {
				t.Errorf("with the layout that it has, or none: %v", err)
			}
		}
		err = opened(t, st, &lease.Options{Namespace: "orders", Layout: snowfence.Default()})
		tests.Refuses(t, err, lease.ErrMismatch, "without a Layout in the options its own is used")
		for what, o := range map[string]lease.Options{
			"a name with a blank": {Namespace: "a b"}, "a negative lead": {Lead: -1},
			"a layout that is none": {Namespace: "new", Create: true, Layout: snowfence.Layout{Tick: time.Second}},
			"secrets without a use": {Secrets: []*snowfence.Secret{snowfence.GenerateSecret()}},
		} {
			fails(t, opened(t, st, &o), "%s", what)
		}
		fails(t, errOf(lease.Generator(t.Context(), nil, nil)), "without a store")
	})
}

// TestGeneratorSpread hands the spread to the generator.
func TestGeneratorSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st := store.NewMemory()
		noError(t, opened(t, st, &lease.Options{Spread: 16}))
		err := opened(t, st, &lease.Options{Spread: 4097})
		if err == nil || !strings.Contains(err.Error(), "a spread of 4097") {
			t.Error(err)
		}
	})
}

// TestGeneratorEncrypted does what the error says: it gives the secrets.
func TestGeneratorEncrypted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st := store.NewMemory()
		o := lease.Options{Namespace: "users", Layout: snowfence.Randflake(), Create: true}
		tests.Refuses(t, opened(t, st, &o), snowfence.ErrKey, "give its secrets in the options (Secrets)")
		o.Secrets = []*snowfence.Secret{snowfence.GenerateSecret()}
		noError(t, opened(t, st, &o))
		other := lease.Options{Namespace: "users", Secrets: []*snowfence.Secret{snowfence.GenerateSecret()}}
		wantErr(t, opened(t, st, &other), lease.ErrMismatch, "with another secret")
	})
}

// lateStore has a namespace only after it was looked for: another process
// makes it in between.
type lateStore struct {
	store.Store
	first func()
}

func (s *lateStore) Get(ctx context.Context, keys []store.Key) (_ []store.Record, reply store.Reply, _ error) {
	rs, reply, err := s.Store.Get(ctx, keys)
	if first := s.first; first != nil {
		s.first = nil
		first()
	}
	return rs, reply, err
}

// TestGeneratorSecond adopts what another process made in the meantime.
func TestGeneratorSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st := &lateStore{Store: store.NewMemory()}
		st.first = func() {
			noError(t, opened(t, st, &lease.Options{Layout: snowfence.MustLayout("sonyflake")}))
		}
		noError(t, opened(t, st, nil))
	})
}

// awayStore can be cut off.
type awayStore struct {
	store.Store
	away atomic.Bool
}

// heard keeps a log that goroutines write.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func (s *awayStore) Swap(ctx context.Context, w []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	if !s.away.Load() {
		return s.Store.Swap(ctx, w)
	}
	errs := make([]error, len(w))
	for i := range errs {
		errs[i] = &store.Failure{Err: errAway, Text: "db: dial 10.0.0.7: connection refused", Public: "db"}
	}
	return errs, nil, store.Reply{}
}

// TestTroubleIsHeard: without a logger slog.Default is told that IDs end
// soon, before they do, and of nothing that is as it should be.
func TestTroubleIsHeard(t *testing.T) {
	var log heard
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st := &awayStore{Store: store.NewMemory()}
		g := must(lease.Generator(t.Context(), st, nil))
		time.Sleep(time.Minute)
		synctest.Wait()
		if text := log.String(); text != "" {
			t.Errorf("all is well, and the log has\n%s", text)
		}
		st.away.Store(true)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if text := log.String(); !strings.Contains(text, "level=WARN msg=\"lease not renewed\"") ||
			!strings.Contains(text, "connection refused") {
			t.Errorf("the store is unreachable, and the log has\n%s", text)
		}
		wantErr(t, errOf(g.Next(t.Context())), nil, "IDs ended before anybody heard of it")
		time.Sleep(time.Minute)
		_, err := g.Next(t.Context())
		if !errors.Is(err, errAway) || strings.Contains(err.Error(), "10.0.0.7") {
			t.Errorf("a caller reads %v", err)
		}
		st.away.Store(false)
		noError(t, g.Close())
	})
}
