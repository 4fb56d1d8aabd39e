package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/snowfence/snowfence/cmd/internal/dashboard"
	"github.com/snowfence/snowfence/cmd/internal/metrics"
	"github.com/snowfence/snowfence/cmd/internal/resp"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Process is a server that listens.
type Process struct {
	HTTP, RESP, Admin string // addresses as they are, ports included; "" where nothing listens

	cfg          Config
	startTime    time.Time
	service      *server.Service
	tokens       *tokens
	certificates *certificates // nil without TLS
	reloads      reloads
	metrics      *metrics.Source
	dashboard    *dashboard.Dashboard // nil without HTTP
	resp         *resp.Server
	http         []*http.Server
	doors        []net.Listener // of http
	clock        ClockSteps
	refused      atomic.Int64 // refusals over HTTP/2 that are on their way

	readiness  atomic.Pointer[readiness]
	lastCheck  atomic.Pointer[time.Time]
	draining   atomic.Bool
	closed     atomic.Bool     // no client is let in any more
	lastAsked  atomic.Int64    // when a client of HTTP/1.1 sent a request while draining, in Unix nanoseconds
	streamCtx  context.Context // ends when streams should
	endStreams context.CancelFunc
	watchCtx   context.Context // ends when nothing is looked after any more
	endWatch   context.CancelFunc

	wait       sync.WaitGroup // of listeners
	background sync.WaitGroup // of what goes on in the background
	failures   chan error     // of a listener that ended by itself
}

// reloads are the files that a server reads again, by itself when they
// change, and on a signal.
type reloads struct {
	mu       sync.Mutex  // held while files are read
	settings atomic.Bool // the settings of the last Reload were refused
}

// ClockSteps are the steps of this machine's wall clock that were seen.
type ClockSteps struct {
	Back, Forward atomic.Int64
	Last          atomic.Int64 // size of the last one, in nanoseconds; negative is back

	wall, mono time.Time
}

// readiness is the result of the last look at the server.
type readiness struct{ err error } // nil means that it is ready

var (
	errStarting = errors.New("the server is starting")
	errStopping = errors.New("the server is stopping")
)

// Service is the service behind the listeners.
func (p *Process) Service() *server.Service { return p.service }

// TLS reports whether clients speak TLS.
func (p *Process) TLS() bool { return p.certificates != nil }

// Tokens reports whether clients need tokens.
func (p *Process) Tokens() bool { return p.tokens.currentAuth().Anyone() == nil }

// Failed delivers the error of a listener that ended by itself.
func (p *Process) Failed() <-chan error { return p.failures }

// Ready returns why requests should go to another server: the store is
// unreachable, no lease is held, or the server stops. It is at most a few
// seconds old, so that asking costs nothing.
func (p *Process) Ready() error {
	if p.draining.Load() {
		return errStopping
	}
	return p.readiness.Load().err
}

// notifySystemd tells systemd the states, if it started this program.
func (p *Process) notifySystemd(states ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(states, "\n")); err != nil {
		p.cfg.Logger.Debug("telling systemd", "cause", err)
	}
}
