package agent

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// state is what the next agent has to know to go on without its server: the units, and below which
// tick each of their nodes may have been sublet. It is a file in memory (tmpfs), beside the socket.
//
// Invariant: no tick of a node is sublet twice, across restarts. The file has the end of a sublease
// before its holder gets it, and no unit whose give-back was sent. It counts only for the agent
// that has its lock, in the boot and the place where it was written: each write makes another file,
// which contains its own number. So a copy is not used, nor an older file that was restored. An
// agent that finds no file that counts asks its server. If the file can neither be written nor
// removed, no holder gets anything.
type state struct {
	path   string   // "" where nothing is kept
	lock   *os.File // held by this agent
	here   place
	logger *slog.Logger

	mu    sync.Mutex // of what follows, and of the units
	about about
	units []*unit
	lost  bool // the file could not be written, and was removed
	ended bool
}

// place is where a state counts.
type place struct {
	Form int       // of the file
	Boot string    // the kernel's text for this boot
	Lock [2]uint64 // device and number of the lock
	File [2]uint64 // of the file itself
}

// form is the one that this program writes. Agents of another one ask their server.
const form = 1

// about is what an agent asks its server for at the start.
type about struct {
	Source, Namespace, Layout string
	Scheme                    string // and its secrets: see schemeID
	Nodes                     int    // of a unit
	TTL                       time.Duration
}

// content is what the file has, behind a checksum.
type content struct {
	Place place
	About about
	Units []savedUnit
}

// savedUnit is a unit in the file.
type savedUnit struct {
	Machine  uint64 // counter of resumptions when it was leased
	Ticket   []byte
	Attempts []string
	Spent    []byte // of each node: how many ticks of the grant, as a varint
}

var errEnded = errors.New("the agent is stopping")

// openState takes the state beside a socket, and reads what an earlier agent left. The state keeps
// nothing, and says why, where no file can be kept.
func openState(path string, logger *slog.Logger) (*state, error) {
	s := &state{logger: logger}
	var err error
	if s.lock, s.here, err = takePlace(path); errors.Is(err, errNoPlace) {
		logger.Info("after a restart the agent asks its server, because it can keep no state", "cause", err)
		return s, nil
	} else if err != nil {
		return nil, err
	}
	s.path = path
	if err := os.Remove(path + newState); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, s.lock.Close())
	}
	if err := s.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		logger.Warn("the agent asks its server, because the state of an earlier one does not count", "cause", err)
	}
	return s, nil
}

var errForeign = errors.New("it was written elsewhere, by another agent, or before a restart of the machine")

// read takes over what the file says, if it counts.
func (s *state) read() error {
	file, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if len(data) < 4 || crc32.ChecksumIEEE(data[4:]) != binary.LittleEndian.Uint32(data) {
		return errors.New("it is damaged")
	}
	var c content
	if err := json.Unmarshal(data[4:], &c); err != nil {
		return err
	}
	here := s.here
	if here.File, err = numberOf(file); err != nil {
		return err
	}
	if c.Place != here {
		return errForeign
	}
	s.about = c.About
	for _, saved := range c.Units {
		if u, err := saved.unit(s); err == nil {
			s.units = append(s.units, u)
		}
	}
	return nil
}

// unit returns a unit as it was saved.
func (v savedUnit) unit(s *state) (*unit, error) {
	l, err := lease.ReadTicket(v.Ticket)
	if err != nil {
		return nil, err
	}
	u := &unit{state: s, machine: v.Machine, ticket: v.Ticket, attempts: v.Attempts, grant: l.Grant, left: true}
	rest := v.Spent
	for range l.Grant.Nodes {
		ticks, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, errors.New("ends are missing")
		}
		u.spent, rest = append(u.spent, l.Grant.From+int64(ticks)), rest[n:]
	}
	return u, nil
}

// saved returns the unit as it is written.
func (u *unit) saved() savedUnit {
	v := savedUnit{Machine: u.machine, Ticket: u.ticket, Attempts: u.attempts}
	for _, end := range u.spent {
		v.Spent = binary.AppendUvarint(v.Spent, uint64(max(end-u.grant.From, 0)))
	}
	return v
}

// begin notes what this agent serves, unless the earlier one served the same: units of another
// source or namespace are nothing to this one.
func (s *state) begin(a about) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.about != a {
		s.about, s.units = a, nil
	}
	return s.put()
}

// resume takes a unit of the earlier agent within a range of nodes, or returns nil.
func (s *state) resume(within snowfence.NodeRange) *unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.units {
		g := u.grant
		inside := within == snowfence.NodeRange{} || g.Node >= within.From && g.Node+g.Nodes <= within.Until
		if u.left && inside {
			u.left, u.known = false, true
			return u
		}
	}
	return nil
}

// put writes the file. One that cannot be written is removed, because the next agent may not go by
// an older one. mu is held.
func (s *state) put() error {
	switch {
	case s.ended:
		return errEnded
	case s.path == "":
		return nil
	}
	err := s.write()
	if err == nil {
		s.lost = false
		return nil
	}
	if gone := os.Remove(s.path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return fmt.Errorf("state of the agent: %w", errors.Join(err, gone))
	}
	if !s.lost {
		s.logger.Warn("the state of the agent cannot be written: after a restart it asks its server", "cause", err)
	}
	s.lost = true
	return nil
}

// write makes a new file and puts it in the place of the one before. It is not synced, because it
// does not count after a crash of the machine. mu is held.
func (s *state) write() (err error) {
	next := s.path + newState
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // the ticket is a secret
	if err != nil {
		return err
	}
	c := content{Place: s.here, About: s.about}
	for _, u := range s.units {
		c.Units = append(c.Units, u.saved())
	}
	c.Place.File, err = numberOf(file)
	if err == nil {
		var text []byte
		if text, err = json.Marshal(c); err == nil {
			sum := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(text))
			_, err = file.Write(append(sum, text...))
		}
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(next, s.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// newState is behind the path of the file that is being written.
const newState = ".new"

// close writes the state for the next agent, and lets it have the lock. After that no holder gets
// anything.
func (s *state) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" || s.ended {
		s.ended = true
		return nil
	}
	err := s.put()
	s.ended = true
	return errors.Join(err, s.lock.Close())
}
