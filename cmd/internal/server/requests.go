package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Request has the log's fields of a request that failed or was slow: no
// secrets, and no IDs.
type Request struct {
	Name      string // the method of the wire, as in its documentation
	Namespace string // as it was asked for; "" where the wire does not tell, or there is none
	Sequence  string // the same
	Node      string // the same, of requests for one node
	Caller    string // name of the token; "" is unknown
	From      string // address of the client

	Certificate string // subject of the client's; "" without one
}

// The log has one line of each kind of trouble in this time, with a count:
// an unreachable store fails thousands of requests a second, and a wrong
// token is used for days.
const (
	logInterval     = 10 * time.Second
	refusalInterval = time.Minute
)

// throttle lets one line an interval pass.
type throttle struct {
	next   atomic.Int64 // when, in Unix nanoseconds
	untold atomic.Int64 // lines held back since then
}

// allow reports whether to tell, and of how many that were not told.
func (s *throttle) allow(now time.Time, every time.Duration) (others int64, ok bool) {
	next := s.next.Load()
	if now.UnixNano() < next || !s.next.CompareAndSwap(next, now.Add(every).UnixNano()) {
		s.untold.Add(1)
		return 0, false
	}
	return s.untold.Swap(0), true
}

// logFailed writes a line of a failed request: a warning if the server, its
// store or the caller's rights are the cause, and otherwise a debug line.
func (s *Core) logFailed(w Wire, k Kind, err error, about func() Request) {
	level, others, every := slog.LevelDebug, int64(0), logInterval
	text := "a request failed"
	switch k {
	case Anonymous, Denied:
		text, every = "a request was refused", refusalInterval
		fallthrough
	case Internal, Unavailable:
		if n, ok := s.meters[w].failures[k].logged.allow(s.now(), every); ok {
			level, others = slog.LevelWarn, n
		}
	}
	if s.opts.Logger.Enabled(context.Background(), level) {
		s.logRequest(level, text, w, others, about(), slog.String("kind", k.Name()), slog.Any("cause", err))
	}
}

// logSlow writes a line of a request if it took longer than a healthy one:
// it may wait for the clock, and all the rest should take less than a
// second. What clients take their time with counts, too.
func (s *Core) logSlow(w Wire, d time.Duration, about func() Request) {
	if d < s.opts.MaxWait+time.Second {
		return
	}
	level, others := slog.LevelDebug, int64(0)
	if n, ok := s.meters[w].slow.allow(s.now(), logInterval); ok {
		level, others = slog.LevelWarn, n
	}
	if s.opts.Logger.Enabled(context.Background(), level) {
		s.logRequest(level, "a request was slow", w, others, about(), slog.Duration("took", d))
	}
}

func (s *Core) logRequest(level slog.Level, text string, w Wire, others int64, r Request, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("wire", w.Name()), slog.String("request", r.Name))
	for _, a := range [][2]string{
		{"namespace", r.Namespace},
		{"sequence", r.Sequence},
		{"node", r.Node},
		{"token", r.Caller},
		{"certificate", r.Certificate},
		{"from", r.From},
	} {
		if a[1] != "" {
			attrs = append(attrs, slog.String(a[0], a[1]))
		}
	}
	if others > 0 {
		attrs = append(attrs, slog.Int64("others", others))
	}
	s.opts.Logger.LogAttrs(context.Background(), level, text, attrs...)
}
