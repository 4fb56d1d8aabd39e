package clib

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/sequence"
)

// numbers is the object behind a handle of a sequence.
type numbers struct {
	seq   *sequence.Sequence // nil of a dated one
	dated dated
	hide  func(error) error // the passwords of the store
	end   func() error
}

// dated is a dated sequence, of a store or of servers.
type dated interface {
	Next(ctx context.Context) (sequence.Serial, error)
	Close() error
}

// errSerial is for calls that have no place for the period of a number.
var errSerial = errors.New("the sequence is dated: take its numbers as text (snowfence_sequence_serial)")

func (n *numbers) close() error {
	if n.dated != nil {
		return errors.Join(n.dated.Close(), n.end())
	}
	return errors.Join(n.seq.Close(), n.end())
}

// OpenSequence opens a sequence of a store or of servers.
func (l *Library) OpenSequence(store, name string) (Handle, error) {
	slot, err := l.takeSlot()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openWait)
	defer cancel()
	n, err := openNumbers(ctx, urlOf(store), name)
	if err != nil {
		l.giveBack(slot)
		return 0, err
	}
	return l.giveHandle(slot, &entry{seq: n}), nil
}

func openNumbers(ctx context.Context, url, name string) (*numbers, error) {
	if open.Servers(url) != nil {
		return openServed(ctx, url, name)
	}
	st, err := openStore(ctx, url)
	if err != nil {
		return nil, err
	}
	n := &numbers{hide: func(err error) error { return hide(st, err) }, end: st.Close}
	quiet := &sequence.Options{Logger: slog.New(slog.DiscardHandler)}
	if n.seq, err = sequence.Open(ctx, st.Leases, name, quiet); errors.Is(err, sequence.ErrDated) {
		n.dated, err = sequence.OpenDated(ctx, st.Leases, name, quiet)
	}
	if err != nil {
		return nil, hide(st, errors.Join(err, st.Close()))
	}
	return n, nil
}

func openServed(ctx context.Context, url, name string) (*numbers, error) {
	c, err := dial(url)
	if err != nil {
		return nil, err
	}
	n := &numbers{hide: func(err error) error { return err }, end: c.Close}
	if n.seq, err = c.Sequence(ctx, name); errors.Is(err, sequence.ErrDated) {
		n.dated, err = c.Dated(ctx, name)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return n, nil
}

// NextNumber returns a number of a sequence. It waits for the store as long
// as generators do.
func (l *Library) NextNumber(h Handle) (int64, error) {
	e, err := l.findEntry(h, true)
	if err != nil {
		return 0, err
	}
	if e.seq.dated != nil {
		return 0, coded{Invalid, errSerial}
	}
	if n, err := e.seq.seq.TryNext(); err == nil {
		return n, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), defaultMaxWait)
	defer cancel()
	n, err := e.seq.seq.Next(ctx)
	return n, e.seq.hide(err)
}

// serialRoom has room for the text of any number and a zero byte.
const serialRoom = 128

// NextSerial takes a number, and writes its text and a zero byte to buf. It
// returns the length of the text. No number is taken for a buffer that may
// be too small.
func (l *Library) NextSerial(h Handle, buf []byte) (int, error) {
	if len(buf) < serialRoom {
		return 0, coded{TooSmall, fmt.Errorf("the text of a number needs a buffer of %d bytes; this one has %d",
			serialRoom, len(buf))}
	}
	e, err := l.findEntry(h, true)
	if err != nil {
		return 0, err
	}
	var text string
	if d := e.seq.dated; d != nil {
		ctx, cancel := context.WithTimeout(context.Background(), defaultMaxWait)
		defer cancel()
		serial, err := d.Next(ctx)
		if err != nil {
			return 0, e.seq.hide(err)
		}
		text = serial.Text
	} else {
		n, err := l.NextNumber(h)
		if err != nil {
			return 0, err
		}
		text = strconv.FormatInt(n, 10)
	}
	n := copy(buf[:len(buf)-1], text)
	buf[n] = 0
	return n, nil
}

// CloseSequence ends the use of a sequence; a dense one gives back the
// numbers that were not given out.
func (l *Library) CloseSequence(h Handle) error {
	e, err := l.leaveHandle(h, true)
	if err != nil {
		return err
	}
	defer l.dropEntry(e)
	return e.seq.hide(e.seq.close())
}

// openWait bounds an open call, beside the option wait.
const openWait = 30 * time.Second
