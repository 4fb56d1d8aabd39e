package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"google.golang.org/protobuf/proto"
)

// keepAlive is the longest silence of a stream.
const keepAlive = 15 * time.Second

// sender writes server-sent events.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	caller  *server.Caller
}

func (s *sender) sendEvent(kind string, v any) error {
	body, err := view.JSON(v)
	if err != nil {
		return err
	}
	s.buf.Reset()
	fmt.Fprintf(&s.buf, "event: %s\ndata: %s\n\n", kind, body)
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}

// hello is the first event of a stream.
type hello struct {
	Version string    `json:"version"`
	Label   string    `json:"label"`
	Since   time.Time `json:"since,omitzero"`
	Name    string    `json:"name"`   // of the token
	Manage  bool      `json:"manage"` // whether it may release and veto nodes, and widen namespaces
	Now     int64     `json:"now"`
}

type sample struct {
	Time   int64             `json:"t"`
	Total  float64           `json:"total"`
	Store  timing            `json:"store"`
	Wires  map[string]timing `json:"wires,omitempty"`  // those that had requests
	Spaces []spaceState      `json:"spaces,omitempty"` // those that changed
	Gone   []string          `json:"gone,omitempty"`   // namespaces that the server no longer has open
	Minute map[string]recent `json:"minute"`           // the store and the wires that had requests

	Failed   float32   `json:"failed"` // requests a second, for trouble of the server or its store
	Refused  float32   `json:"refused"`
	Failures []failure `json:"failures,omitempty"` // all, when one of them changed

	Sequences     []sequenceState `json:"sequences,omitempty"` // those that changed
	GoneSequences []string        `json:"gone_sequences,omitempty"`
}

// stream is GET /dashboard/api/stream: hello, namespaces, history, and then
// each second, until the page goes.
func (d *Dashboard) stream(w http.ResponseWriter, r *http.Request) error {
	id, err := d.authorize(r, "")
	if err != nil {
		return err
	}
	s, done, err := d.openStream(w, r, id)
	if err != nil {
		return err
	}
	defer done()
	greeting := hello{
		Version: d.cfg.Version, Label: d.cfg.Service.Label(), Since: d.cfg.Started.UTC(), Name: id.Name,
		Now: time.Now().UnixMilli(), Manage: id.May(server.VerbManage, "") == nil,
	}
	if s.sendEvent("hello", greeting) != nil {
		return nil
	}
	defer d.sampler.countPage(r.Context())()
	p := client{sender: s, states: map[string]spaceState{}, sequences: map[string]sequenceState{}}
	first := d.sampler.snapshotFor(id)
	if d.reserveRows(&p, first) != nil || p.sendFirst(first, d.sampler.historyFor(id, "")) != nil {
		return nil // the page has gone
	}
	for n := 1; ; n++ {
		next := p.next
		select {
		case <-r.Context().Done():
			return nil
		case <-d.life.Done():
			return nil
		case <-next:
			if n%5 == 0 { // tokens may be taken away
				if id, err = d.checkAgain(r, ""); err != nil {
					_ = s.sendEvent("denied", err.Error())
					return nil
				}
			}
			v := d.sampler.snapshotFor(id)
			if err = d.reserveRows(&p, v); err == nil {
				err = p.sendNews(v)
			}
		}
		if err != nil {
			return nil // the page has gone
		}
	}
}

// reserveRows takes room for the namespaces, sequences and servers that a
// page has, where they are more than before.
func (d *Dashboard) reserveRows(p *client, v snapshot) error {
	all := len(v.spaces) + len(v.sequences) + len(v.names.GetNamespaces()) + len(v.servers.GetServers())
	rows := max(int64(all)*server.LeaseRoom/server.StreamRoom, p.reserved)
	more := (rows - p.reserved) * server.StreamRoom
	p.reserved = rows
	return d.cfg.Service.Reserve(p.caller, more)
}

// openStream starts a stream, if there is room for it.
func (d *Dashboard) openStream(w http.ResponseWriter, r *http.Request, id *server.Identity) (*sender, func(), error) {
	c := &server.Caller{Identity: id, From: r.RemoteAddr}
	if err := d.cfg.Service.Reserve(c, 2*server.StreamRoom); err != nil {
		return nil, nil, err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies are not to gather it
	return &sender{w: w, control: http.NewResponseController(w), caller: c}, func() { d.cfg.Service.Ended(c) }, nil
}

// client is the knowledge of a page.
type client struct {
	*sender
	last   snapshot
	next   <-chan struct{}
	states map[string]spaceState

	sequences map[string]sequenceState
	reserved  int64 // room for rows beside that of the stream, in rooms of a stream
}

func (p *client) sendFirst(v snapshot, h history) error {
	return errors.Join(
		p.sendEvent("namespaces", v.names), p.sendEvent("store", v.away), p.sendEvent("ready", v.ready),
		p.sendEvent("used", v.usage), p.sendEvent("history", h), p.sendNews(v),
	)
}

func (p *client) sendNews(v snapshot) error {
	out := v.sample
	if !slices.Equal(v.failures, p.last.failures) {
		out.Failures = v.failures
	}
	out.Spaces, out.Gone = changed(p.states, v.spaces, func(s spaceState) string { return s.Name })
	out.Sequences, out.GoneSequences = changed(p.sequences, v.sequences, func(s sequenceState) string { return s.Name })
	var errs []error
	if p.next != nil && !proto.Equal(v.names, p.last.names) {
		errs = append(errs, p.sendEvent("namespaces", v.names))
	}
	if v.away != p.last.away {
		errs = append(errs, p.sendEvent("store", v.away))
	}
	if v.ready != p.last.ready {
		errs = append(errs, p.sendEvent("ready", v.ready))
	}
	if p.next != nil && !maps.Equal(v.usage, p.last.usage) {
		errs = append(errs, p.sendEvent("used", v.usage))
	}
	errs = append(errs, p.sendServers(v))
	p.last, p.next = v, v.next
	return errors.Join(append(errs, p.sendEvent("sample", out))...)
}

// cells is a map, or the changes in one.
type cells struct {
	Full   bool             `json:"full"`
	At     int64            `json:"at"`
	Cells  int              `json:"cells"`
	Per    int64            `json:"per"` // nodes in a cell
	Nodes  int64            `json:"nodes"`
	First  int64            `json:"first_node,string"`
	Last   int64            `json:"last_node,string"`
	Runs   []byte           `json:"runs"`
	Counts [cellKinds]int64 `json:"counts"`
}

// watch is GET /dashboard/api/watch?namespace=: its rates so far, and then
// the map of its nodes, at first all of it.
func (d *Dashboard) watch(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("namespace")
	id, err := d.authorizeNamespace(r, name)
	if err != nil {
		return err
	}
	s, done, err := d.openStream(w, r, id)
	if err != nil {
		return err
	}
	defer done()
	if err := s.sendEvent("history", d.sampler.historyFor(id, name)); err != nil {
		return nil
	}
	watched, leave := d.cfg.Service.Views.Watched(name)
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	var have int64   // the version that was sent
	var known []byte // its cells; a slow page keeps nothing else of an old view
	for quiet := time.Now().Add(keepAlive); ; {
		wait, done := context.WithDeadline(ctx, quiet)
		v, err := watched.Next(wait, have)
		done()
		if v != nil {
			have = v.Version
		}
		if ctx.Err() != nil || errors.Is(err, server.ErrStopping) {
			return nil
		}
		if errors.Is(wait.Err(), context.DeadlineExceeded) {
			quiet = time.Now().Add(keepAlive)
			if s.sendEvent("alive", nil) != nil {
				return nil
			}
			continue
		}
		if _, err := d.checkAgain(r, name); err != nil {
			return nil
		}
		if err != nil {
			err = s.sendEvent("trouble", err.Error())
		} else if l, ok := v.Picture.(*nodeMap); ok {
			c := cellsSince(l, known)
			known = l.cells
			err = s.sendEvent("cells", c)
		}
		if err != nil {
			return nil // the page has gone
		}
	}
}

// cellsSince returns the cells that are not as known; nil is nothing known.
func cellsSince(l *nodeMap, known []byte) cells {
	c := cells{
		At: l.At.UnixMilli(), Cells: len(l.cells), Per: l.per, Nodes: l.nodes, First: l.Namespace.Nodes.From,
		Last: l.Namespace.Nodes.Until - 1, Counts: l.counts,
	}
	if known == nil || len(known) != len(l.cells) {
		c.Full, c.Runs = true, encodeRuns(l.cells, nil)
	} else {
		c.Runs = encodeRuns(l.cells, known)
	}
	return c
}
