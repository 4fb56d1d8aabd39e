package serve

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	profiles "runtime/pprof"
)

// mountProfiles serves the profiles of go tool pprof and go tool trace.
// There is no profile of the command line, which can have the password of a
// store.
func (p *Process) mountProfiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/{$}", func(w http.ResponseWriter, _ *http.Request) {
		for _, one := range profiles.Profiles() {
			fmt.Fprintf(w, "%8d %s\n", one.Count(), one.Name())
		}
		fmt.Fprint(w, "         profile?seconds=30\n         trace?seconds=1\n")
	})
	stream := func(path string, h http.HandlerFunc) { mux.Handle(path, p.streamHandler(h)) }
	stream("/debug/pprof/{name}", func(w http.ResponseWriter, r *http.Request) {
		pprof.Handler(r.PathValue("name")).ServeHTTP(w, r)
	})
	stream("/debug/pprof/profile", pprof.Profile)
	stream("/debug/pprof/trace", pprof.Trace)
}
