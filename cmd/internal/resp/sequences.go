package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/sequence"
)

// Sequences are the keys of this server. INCR takes a number of a
// sequence, where it would count a key in Redis.

// key is the meaning of a key: the name of a sequence, and the period
// behind it; 0 where there is none.
type key struct {
	name   string
	period int64
}

// parseKey reads a key. A colon in it means a dot, as people write names in
// Redis and here. Names do not end in dates or other numbers.
func parseKey(text []byte) key {
	k := key{name: strings.ReplaceAll(server.Clip(text), ":", ".")}
	if dot := strings.LastIndexByte(k.name, '.'); dot >= 0 {
		if period := periodOf(k.name[dot+1:]); period > 0 {
			k.name, k.period = k.name[:dot], period
		}
	}
	return k
}

// periodOf reads a date: 2026, 20264, 202611, 2026-11, 20261122 or
// 2026-11-22; 0 if it is none. Years are 1970 to 2199, so that most numbers
// of customers are none.
func periodOf(date string) int64 {
	switch {
	case len(date) == 7 && date[4] == '-':
		date = date[:4] + date[5:]
	case len(date) == 10 && date[4] == '-' && date[7] == '-':
		date = date[:4] + date[5:7] + date[8:]
	}
	if n := len(date); date < "1970" || date >= "2200" || n < 4 || n == 7 || n > 8 {
		return 0
	}
	n, _ := strconv.ParseUint(date, 10, 31) // 0 if it is no number
	return int64(n)
}

// ParseKey returns the sequence and the period of a key, as a server
// understands it. The period is 0 where the key has no date.
func ParseKey(text string) (name string, period int64) {
	k := parseKey([]byte(text))
	return k.name, k.period
}

// takeNumbers takes n numbers in a row and answers the last, and reports
// whether it did.
func (c *conn) takeNumbers(text []byte, n int64) bool {
	if c.id == nil {
		c.noAuth()
		return false
	}
	if err := server.CheckNumbers(n); err != nil {
		c.writeFailure(err)
		return false
	}
	for {
		sq, err := c.sequenceOf(text, server.VerbIDs, n)
		if err == nil {
			err = c.needsPeriod(sq)
		}
		if err == nil && n > 1 && sq.Step() != 1 {
			// A client counts back from the last number by 1, and would use
			// numbers of others.
			err = server.Errorf(server.Invalid, "sequence %q counts in steps of %d, and clients take the %d numbers "+
				"below the answer of INCRBY for theirs: use INCR", sq.Name, sq.Step(), n-1)
		}
		if err != nil {
			c.writeFailure(err)
			return false
		}
		got, err := sq.Take(c.srv.life, c.counter.period, n)
		if errors.Is(err, sequence.ErrClosed) { // it made room for another one
			c.counter.seq = nil
			continue
		}
		if err != nil {
			c.writeFailure(err)
			return false
		}
		c.out = appendInt(c.out, got.Last())
		return true
	}
}

// sequenceOf finds the sequence of a key, most often the key of the command
// before, and checks the caller's right to it. The command counts as n
// numbers.
func (c *conn) sequenceOf(text []byte, v server.Verb, n int64) (*server.Sequence, error) {
	last := &c.counter
	if last.seq == nil || !bytes.Equal(text, last.text) {
		last.text, last.key, last.seq = append(last.text[:0], text...), parseKey(text), nil
	}
	if err := c.id.Authorize(v, last.name, n); err != nil {
		return nil, err
	}
	if last.seq == nil {
		var err error
		if last.seq, err = c.srv.cfg.Service.Sequences.Find(c.srv.life, c.caller(), last.name); err != nil {
			return nil, err
		}
	}
	return last.seq, nil
}

func incr(c *conn, args [][]byte) { c.takeNumbers(args[1], 1) }

func incrBy(c *conn, args [][]byte) {
	n, err := strconv.ParseInt(string(args[2]), 10, 64)
	switch {
	case err != nil:
		c.writeError("value is not an integer or out of range")
	case n < 1:
		c.writeError("a sequence never goes back: INCRBY takes 1 to 1000000 numbers; " +
			"one made with --step -1 counts down")
	default:
		c.takeNumbers(args[1], n)
	}
}

// needsPeriod refuses the bare name of a dated sequence: key and date are
// to agree, also for a client that waited over midnight.
func (c *conn) needsPeriod(sq *server.Sequence) error {
	if c.counter.period != 0 || !sq.Dated() {
		return nil
	}
	return fmt.Errorf("sequence %q: %w: it is dated: name the period too, as in %s:%d", sq.Name, sequence.ErrPeriod,
		sq.Name, sq.Present())
}

// get answers the last number that this server gave.
func get(c *conn, args [][]byte) {
	c.counter.seq = nil // a sequence that made room for another one may have given more since
	sq, err := c.sequenceOf(args[1], server.VerbRead, 1)
	if err == nil {
		err = c.needsPeriod(sq)
	}
	var last int64
	var there bool
	if err == nil {
		last, there, err = sq.LastNumber(c.srv.life, c.counter.period)
	}
	switch {
	case err != nil:
		c.writeFailure(err)
	case !there:
		c.out = appendNull(c.out, c.proto)
	default:
		c.out = appendBulk(c.out, strconv.AppendInt(nil, last, 10))
	}
}

// expire answers 1 for a period: its numbers end with it anyway. Anything
// else would never begin again, and a client that expires it believes that
// it does.
func expire(c *conn, args [][]byte) {
	if _, err := strconv.ParseInt(string(args[2]), 10, 64); err != nil {
		c.writeError("value is not an integer or out of range")
		return
	}
	sq, err := c.sequenceOf(args[1], server.VerbIDs, 1)
	if err == nil {
		err = c.needsPeriod(sq)
	}
	switch {
	case err != nil:
	case c.counter.period == 0:
		err = server.Errorf(server.Refused, "the numbers of %s never expire and never begin again: count in a key of "+
			"a dated sequence, such as name:20261122, which ends by itself", sq.Name)
	default:
		err = sq.CheckPeriod(c.counter.period)
	}
	if err != nil {
		c.writeFailure(err)
		return
	}
	c.out = appendInt(c.out, 1)
}

// ttl answers that a key does not expire.
func ttl(c *conn, args [][]byte) {
	if _, err := c.sequenceOf(args[1], server.VerbRead, 1); err != nil {
		c.writeFailure(err)
		return
	}
	c.out = appendInt(c.out, -1)
}
