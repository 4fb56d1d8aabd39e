package serve

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"
)

// mountProfiles serves what go tool pprof and go tool trace ask for. net/http/pprof also subtracts
// profiles, and what it needs for that makes the program 0.4 MB larger.
func (p *Process) mountProfiles(mux *http.ServeMux) {
	stream := func(path string, h http.HandlerFunc) { mux.Handle(path, p.streaming(h)) }
	stream("/debug/pprof/{$}", listProfiles)
	stream("/debug/pprof/{name}", writeProfile)
	stream("/debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		record(w, r, 30*time.Second, pprof.StartCPUProfile, pprof.StopCPUProfile)
	})
	stream("/debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) {
		record(w, r, time.Second, trace.Start, trace.Stop)
	})
}

// listProfiles names the profiles, with how much is in them.
func listProfiles(w http.ResponseWriter, _ *http.Request) {
	for _, profile := range pprof.Profiles() {
		fmt.Fprintf(w, "%8d %s\n", profile.Count(), profile.Name())
	}
	fmt.Fprint(w, "         profile?seconds=30\n         trace?seconds=1\n")
}

// writeProfile writes a profile of what is there now. There is none of the command line, which can
// have the password of a store.
func writeProfile(w http.ResponseWriter, r *http.Request) {
	profile := pprof.Lookup(r.PathValue("name"))
	switch {
	case profile == nil:
		refuseProfile(w, http.StatusNotFound, "there is no such profile: see /debug/pprof/")
		return
	case r.FormValue("seconds") != "":
		refuseProfile(w, http.StatusBadRequest, "take two profiles, and compare them by go tool pprof -diff_base")
		return
	}
	if gc, _ := strconv.Atoi(r.FormValue("gc")); profile.Name() == "heap" && gc > 0 {
		runtime.GC()
	}
	debug, _ := strconv.Atoi(r.FormValue("debug"))
	if debug == 0 {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	_ = profile.WriteTo(w, debug) // the client may be gone
}

// record writes what is recorded for the seconds that are asked for, or until the client goes.
func record(w http.ResponseWriter, r *http.Request, length time.Duration, start func(io.Writer) error, stop func()) {
	if seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64); err == nil && seconds > 0 {
		length = time.Duration(seconds * float64(time.Second))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := start(w); err != nil { // another client records
		refuseProfile(w, http.StatusInternalServerError, err.Error())
		return
	}
	defer stop()
	select {
	case <-time.After(length):
	case <-r.Context().Done():
	}
}

// refuseProfile says why there is no profile, so that go tool pprof repeats it.
func refuseProfile(w http.ResponseWriter, code int, why string) {
	w.Header().Set("X-Go-Pprof", "1")
	http.Error(w, why, code)
}
