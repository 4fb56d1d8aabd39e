package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
)

// namespace is the namespace of all scenes.
const namespace = "conform"

// scene is a client with a server of its own, of which a rule plays the answers.
type scene struct {
	ctx     context.Context
	judge   *judge
	proxy   *proxy
	program string // of the servers
	folder  string // of their store
	rule    rule
	command []string
	child   *child
	away    atomic.Bool // no server answers
	asked   sync.Once   // for begin

	mu     sync.Mutex
	script func(*call) answer // nil lets all calls through
	fault  error              // of the referee itself

	ids    int64
	missed string // what did not happen, or ""
}

// play plays one rule.
func play(ctx context.Context, r rule, program string, command []string) (Row, error) {
	row := Row{Name: r.name, Rule: r.text, Section: r.section}
	folder, err := os.MkdirTemp("", "conform")
	if err != nil {
		return row, err
	}
	defer os.RemoveAll(folder)
	s := &scene{ctx: ctx, judge: newJudge(), program: program, folder: folder, rule: r, command: command}
	if s.proxy, err = newProxy(s); err != nil {
		return row, fmt.Errorf("conform: rule %s: %w", r.name, err)
	}
	defer s.proxy.close()
	if s.start() {
		r.play(s)
		s.finish()
	}
	if s.child != nil {
		s.child.kill()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return row, fmt.Errorf("conform: rule %s: %w", r.name, s.fault)
	}
	j := s.judge
	j.mu.Lock()
	defer j.mu.Unlock()
	row.IDs, row.Grants, row.Found = s.ids, j.handed, j.offences
	switch {
	case len(row.Found) > 0:
		row.Verdict = Red
	case s.missed != "":
		row.Verdict, row.Missed = NotSeen, s.missed
	default:
		row.Verdict = Green
	}
	return row, nil
}

// begin makes the namespace at the first request: a layout that ends soon must not end before it.
func (s *scene) begin() {
	s.asked.Do(func() {
		spec := s.rule.layout
		if spec == nil {
			spec = coarse
		}
		l, err := snowfence.ParseLayout(spec(time.Now()))
		var scheme *snowfence.Scheme
		if err == nil {
			scheme, err = snowfence.NewScheme(l)
		}
		if err == nil {
			err = s.create(l.String())
		}
		s.broke(err)
		s.judge.begin(scheme)
	})
}

// broke keeps an error of the referee itself.
func (s *scene) broke(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = errors.Join(s.fault, err)
}

// create makes the namespace, as an operator does.
func (s *scene) create(layout string) error {
	args := []string{
		"namespace", "create", namespace, "--store", s.url(), "--layout", layout, "--max-ttl", s.rule.ttl.String(),
	}
	if s.rule.nodes > 0 {
		args = append(args, "--leasable", fmt.Sprintf("0-%d", s.rule.nodes-1))
	}
	if out, err := exec.CommandContext(s.ctx, s.program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// url is the store of the servers.
func (s *scene) url() string { return "sqlite:" + filepath.Join(s.folder, "ids.db") }

// start starts the adapter, which acquires a node of the namespace.
func (s *scene) start() bool {
	var err error
	s.child, err = startChild(s.command, []string{
		"SNOWFENCE_SERVER=http://" + s.proxy.listen.Addr().String(), "SNOWFENCE_NAMESPACE=" + namespace,
		"SNOWFENCE_TTL=" + s.rule.ttl.String(),
	})
	if err != nil {
		s.judge.found("%v", err)
	}
	return err == nil
}

// on plays answers from now on.
func (s *scene) on(script func(c *call) answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

func (s *scene) answerTo(c *call) answer {
	s.mu.Lock()
	script := s.script
	s.mu.Unlock()
	switch {
	case s.away.Load():
		return answer{unreached: true}
	case script == nil:
		return answer{}
	}
	return script(c)
}

// next asks the client for an ID. ok is false if it has none now, and alive if it gives no answer.
func (s *scene) next() (id snowfence.ID, ok, alive bool) {
	asked := time.Now()
	text, err := s.child.ask("next")
	if err != nil {
		if s.ctx.Err() == nil {
			s.judge.found("%v", err)
		}
		return 0, false, false
	}
	if len(text) >= 5 && text[:5] == "error" {
		return 0, false, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.judge.found("the adapter answers next with %.100q: it is an ID in decimal, or error and why", text)
		return 0, false, false
	}
	s.ids++
	s.judge.id(snowfence.ID(n), asked)
	return snowfence.ID(n), true, true
}

// until asks for IDs until something has happened, for as long as Patience, or until there is an
// offence. what names it. It reports whether that happened.
func (s *scene) until(what string, happened func() bool) bool {
	limit := time.Now().Add(Patience)
	for !happened() {
		if s.ctx.Err() != nil || time.Now().After(limit) || s.judge.guilty() {
			s.miss(what)
			return false
		}
		_, ok, alive := s.next()
		switch {
		case !alive:
			s.miss(what)
			return false
		case !ok:
			time.Sleep(20 * time.Millisecond)
		default:
			time.Sleep(5 * time.Millisecond)
		}
	}
	return true
}

func (s *scene) miss(what string) {
	if s.missed == "" {
		s.missed = what
	}
}

// finish has the client give its node back.
func (s *scene) finish() {
	s.away.Store(false)
	s.on(nil)
	if s.ctx.Err() != nil || s.missed != "" {
		return
	}
	if err := s.child.close(); err != nil {
		s.judge.found("%v", err)
		return
	}
	// A client that was slow to close may have had nothing left to give back.
	if time.Now().Before(s.layout().TimeOf(s.judge.last().until)) && s.calls("Release") == 0 {
		s.miss("a Release after close")
	}
}

// calls returns how many calls of a method came.
func (s *scene) calls(method string) int {
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	return s.judge.counts[method]
}

// made reports whether the client made an ID of the latest grant at or above a tick.
func (s *scene) made(tick int64) bool {
	g := s.judge.last()
	return len(g.tickets) > 0 && g.highest >= max(tick, g.from)
}

// renewed reports whether IDs of the latest grant are beyond what its acquisition granted.
func (s *scene) renewed() bool { return s.made(s.judge.last().first) }

// layout is the namespace's, once it was asked for.
func (s *scene) layout() snowfence.Layout {
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	return s.judge.scheme.Layout()
}

// tick is the tick of the clock some time from now.
func (s *scene) tick(ahead time.Duration) int64 { return s.layout().TickOf(time.Now().Add(ahead)) }
