// Package dashboard is the web page of a server: its work, its store and a
// decoder of IDs. Its sources are in web; web/dist, built from them, is
// part of the program.
package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/rest"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Config is the content of a dashboard, and its audience.
type Config struct {
	Service *server.Service
	Who     server.Identify
	Refused func(r *http.Request, err error) // is told of requests that failed
	Latency *server.StoreLatency             // of the store
	Version string
	Started time.Time    // when it was
	Ready   func() error // says from memory why requests should go to another server; nil means that it is not shown

	Streaming func(http.Handler) http.Handler // what routes that stream are behind
}

// Dashboard looks at a service, once a second.
type Dashboard struct {
	cfg     Config
	sampler *sampler
	life    context.Context
	end     context.CancelFunc
	wait    sync.WaitGroup
}

// Mount adds the page at /dashboard/, a redirection from /, and its data
// below /dashboard/api/. Close ends its background work.
func Mount(mux *http.ServeMux, cfg Config) *Dashboard {
	ctx, end := context.WithCancel(context.Background())
	d := &Dashboard{cfg: cfg, life: ctx, end: end}
	d.sampler = newSampler(cfg)
	cfg.Service.Views.Draw = d.drawView
	d.wait.Go(func() { d.sampler.run(ctx) })
	mountPage(mux)
	handler := func(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			setSecurityHeaders(w.Header())
			w.Header().Set("Cache-Control", "no-store")
			if err := serve(w, r); err != nil {
				cfg.Refused(r, err)
				rest.Problem(w, err)
			}
		})
	}
	mux.Handle("GET /dashboard/api/stream", cfg.Streaming(handler(d.stream)))
	mux.Handle("GET /dashboard/api/watch", cfg.Streaming(handler(d.watch)))
	mux.Handle("GET /dashboard/api/leases", handler(d.leases))
	mux.Handle("POST /dashboard/api/decode", handler(d.decode))
	mux.HandleFunc("/dashboard/api/", func(w http.ResponseWriter, _ *http.Request) {
		setSecurityHeaders(w.Header())
		rest.Problem(w, server.Errorf(server.Invalid, "the dashboard has no such path or method"))
	})
	return d
}

// Close ends all streams, so that a stop does not wait for pages that are
// open.
func (d *Dashboard) Close() {
	d.end()
	d.wait.Wait()
}

// authorize returns the caller of a request that reads a namespace ("" is
// none in particular). The request counts for the rate of its token.
func (d *Dashboard) authorize(r *http.Request, namespace string) (*server.Identity, error) {
	id, err := d.cfg.Who(r)
	if err != nil {
		return nil, err
	}
	return id, id.Authorize(server.VerbRead, namespace, 1)
}

// authorizeNamespace is authorize for a namespace that there is.
func (d *Dashboard) authorizeNamespace(r *http.Request, name string) (*server.Identity, error) {
	id, err := d.authorize(r, name)
	if err == nil {
		ctx, cancel := server.WithStoreTimeout(r.Context())
		defer cancel()
		_, err = d.cfg.Service.Management.ShowNamespace(ctx, &pb.ShowNamespaceRequest{Name: name})
	}
	return id, err
}

// checkAgain is authorize for a running stream, and counts nothing: its
// token may be gone, or have lost rights.
func (d *Dashboard) checkAgain(r *http.Request, namespace string) (*server.Identity, error) {
	id, err := d.cfg.Who(r)
	if err != nil {
		return nil, err
	}
	return id, id.May(server.VerbRead, namespace)
}

// writeJSON writes a value as JSON.
func writeJSON(w http.ResponseWriter, v any) error {
	body, err := view.JSON(v)
	if err != nil {
		return server.NewError(server.Internal, err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the page may be gone
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return server.Errorf(server.Invalid, "the body of the request: %w", err)
	}
	return nil
}

// millis is a time as pages have it; 0 is none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
