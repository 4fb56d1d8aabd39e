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

const namespace = "conform"

// scene is a client with a server of its own, of which a rule plays the
// answers.
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
	once    sync.Once   // for begin

	mu     sync.Mutex
	script func(*call) answer // nil lets all calls through
	fault  error              // of the referee itself

	ids  int64
	miss string // what did not happen, or ""
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
	if s.startAdapter() {
		r.play(s)
		s.endAdapter()
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
	row.IDs, row.Grants, row.Found = s.ids, j.answers, j.offences
	switch {
	case len(row.Found) > 0:
		row.Verdict = Red
	case s.miss != "":
		row.Verdict, row.Missed = NotSeen, s.miss
	default:
		row.Verdict = Green
	}
	return row, nil
}

// createOnce makes the namespace at the first request: a layout that ends
// soon must not end before it.
func (s *scene) createOnce() {
	s.once.Do(func() {
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
			err = s.createNamespace(l.String())
		}
		s.keepError(err)
		s.judge.setLayout(scheme)
	})
}

// keepError keeps an error of the referee itself.
func (s *scene) keepError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = errors.Join(s.fault, err)
}

// createNamespace makes the namespace, as an operator does.
func (s *scene) createNamespace(layout string) error {
	args := []string{
		"namespace", "create", namespace, "--store", s.storeURL(), "--layout", layout, "--max-ttl", s.rule.ttl.String(),
	}
	if s.rule.nodes > 0 {
		args = append(args, "--leasable", fmt.Sprintf("0-%d", s.rule.nodes-1))
	}
	if out, err := exec.CommandContext(s.ctx, s.program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (s *scene) storeURL() string { return "sqlite:" + filepath.Join(s.folder, "ids.db") }

// startAdapter starts the adapter, which acquires a node of the namespace.
func (s *scene) startAdapter() bool {
	var err error
	s.child, err = startChild(s.command, []string{
		"SNOWFENCE_SERVER=http://" + s.proxy.listen.Addr().String(), "SNOWFENCE_NAMESPACE=" + namespace,
		"SNOWFENCE_TTL=" + s.rule.ttl.String(),
	})
	if err != nil {
		s.judge.noteOffence("%v", err)
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

// nextUntil asks for IDs until something has happened, for as long as
// Patience, or until there is an offence. what names it. It reports whether
// that happened.
func (s *scene) nextUntil(what string, happened func() bool) bool {
	limit := time.Now().Add(Patience)
	for !happened() {
		if s.ctx.Err() != nil || time.Now().After(limit) || s.judge.hasOffence() {
			s.noteMiss(what)
			return false
		}
		_, ok, alive := s.nextID()
		switch {
		case !alive:
			s.noteMiss(what)
			return false
		case !ok:
			time.Sleep(20 * time.Millisecond)
		default:
			time.Sleep(5 * time.Millisecond)
		}
	}
	return true
}

func (s *scene) noteMiss(what string) {
	if s.miss == "" {
		s.miss = what
	}
}

// nextID asks the client for an ID. ok is false if it has none now, and
// alive if it gives no answer.
func (s *scene) nextID() (id snowfence.ID, ok, alive bool) {
	asked := time.Now()
	text, err := s.child.askAdapter("next")
	if err != nil {
		if s.ctx.Err() == nil {
			s.judge.noteOffence("%v", err)
		}
		return 0, false, false
	}
	if len(text) >= 5 && text[:5] == "error" {
		return 0, false, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.judge.noteOffence("the adapter answers next with %.100q: it is an ID in decimal, or error and why", text)
		return 0, false, false
	}
	s.ids++
	s.judge.judgeID(snowfence.ID(n), asked)
	return snowfence.ID(n), true, true
}

// endAdapter has the client give its node back.
func (s *scene) endAdapter() {
	s.away.Store(false)
	s.on(nil)
	if s.ctx.Err() != nil || s.miss != "" {
		return
	}
	if err := s.child.close(); err != nil {
		s.judge.noteOffence("%v", err)
		return
	}
	// A client that was slow to close may have had nothing left to give
	// back.
	if time.Now().Before(s.presentLayout().TimeOf(s.judge.latestGrant().until)) && s.countCalls("Release") == 0 {
		s.noteMiss("a Release after close")
	}
}

// countCalls returns how many calls of a method came.
func (s *scene) countCalls(method string) int {
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	return s.judge.counts[method]
}

// usesRenewal reports whether IDs of the latest grant lie above the grant
// of its acquisition.
func (s *scene) usesRenewal() bool { return s.madeAbove(s.judge.latestGrant().first) }

// madeAbove reports whether the client made an ID of the latest grant at or
// above a tick.
func (s *scene) madeAbove(tick int64) bool {
	g := s.judge.latestGrant()
	return len(g.tickets) > 0 && g.highest >= max(tick, g.from)
}

// presentLayout is the namespace's, once it was asked for.
func (s *scene) presentLayout() snowfence.Layout {
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	return s.judge.scheme.Layout()
}

// tickAhead is the tick of the clock some time from now.
func (s *scene) tickAhead(ahead time.Duration) int64 {
	return s.presentLayout().TickOf(time.Now().Add(ahead))
}
