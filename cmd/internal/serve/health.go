package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
)

// mountHealth adds the routes of load balancers and orchestrators. A caller
// without the right to see causes, which may name hosts and users, learns
// only that there is one.
func (p *Process) mountHealth(mux *http.ServeMux, causes bool) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		switch err, late := p.Ready(), p.service.Spaces.Late(); {
		case err == nil && late == nil:
			fmt.Fprintln(w, "ok")
		case err == nil && causes:
			fmt.Fprintln(w, "ok, but late:", server.LogText(late))
		case err == nil:
			fmt.Fprintln(w, "ok, but late: the log of the server says what")
		case causes:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready:", server.LogText(err))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready: the log of the server says why")
		}
	})
}

// checkReady looks at the server, and tells the log and systemd of a
// change.
func (p *Process) checkReady(life context.Context) {
	ctx, cancel := context.WithTimeout(life, max(2*time.Second, 2*p.cfg.pollWait))
	defer cancel()
	err := p.readyError(ctx)
	if life.Err() != nil {
		return // the look was broken off
	}
	before := p.readiness.Swap(&readiness{err}).err
	if err == nil { // otherwise the line below says it
		p.service.Spaces.WarnLater(time.Now())
	}
	switch {
	case err == nil && before != nil:
		p.cfg.Logger.Info("ready")
		p.notifySystemd("STATUS=ready")
	case err != nil && (before == nil || errors.Is(before, errStarting)):
		p.cfg.Logger.Warn("not ready", "cause", err)
		p.notifySystemd("STATUS=not ready: " + server.LogText(err))
	}
}

// readyError returns why the server is not ready.
func (p *Process) readyError(ctx context.Context) error {
	if err := p.service.Ping(ctx); err != nil {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	names, named := p.cfg.ReadyFor, true
	if len(names) == 0 {
		names, named = []string{"default"}, false
	}
	var missing []error
	for _, name := range names { // all of them: the trouble of one is no reason not to lease nodes of the next
		if err := p.openLease(ctx, name); err != nil && (named || !errors.Is(err, lease.ErrNoNamespace)) {
			missing = append(missing, err)
		}
	}
	if len(missing) > 0 {
		return errors.Join(missing...)
	}
	spaces := p.service.Spaces.List()
	var trouble error
	for _, sp := range spaces {
		err := sp.Own.Err(time.Now())
		if err == nil {
			return nil
		}
		trouble = err
	}
	return trouble
}

// openLease leases nodes in a namespace if that was not done, and returns
// why there are none.
func (p *Process) openLease(ctx context.Context, name string) error {
	sp, err := p.service.Spaces.Find(ctx, name)
	if err == nil {
		_, err = sp.Own.Generator(ctx)
	}
	if err == nil && sp.Own.Lapsed(time.Now()) { // a server that is ready has a lease, wanted or not
		_, err = sp.Next(ctx)
	}
	if err != nil {
		return fmt.Errorf("namespace %q: no lease is held: %w", name, err)
	}
	return sp.Own.Err(time.Now())
}
