package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// mountHealth adds what load balancers and orchestrators ask.
func (p *Process) mountHealth(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := p.Ready(ctx); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready:", err)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// Ready returns why requests should go to another server: the store is away, or a lease of this one has run out.
func (p *Process) Ready(ctx context.Context) error {
	if err := p.service.Ping(ctx); err != nil {
		return err
	}
	for _, sp := range p.service.Spaces() {
		if st, ok := sp.Status(); ok && !st.Held {
			return fmt.Errorf("namespace %q: no lease is held: %w", sp.Name, st.Trouble)
		}
	}
	return nil
}
