package main

import (
	"context"
	"io"
)

// interruptible is a reader that ends with a context, while a read of a terminal or a pipe goes on:
// nothing else ends that.
type interruptible struct {
	ctx  context.Context
	r    io.Reader
	buf  []byte
	rest []byte // of buf, read and not taken yet
	done chan read
}

type read struct {
	n   int
	err error
}

// Read implements [io.Reader].
func (i *interruptible) Read(p []byte) (int, error) {
	if len(i.rest) > 0 {
		n := copy(p, i.rest)
		i.rest = i.rest[n:]
		return n, nil
	}
	if i.done == nil {
		i.done, i.buf = make(chan read, 1), make([]byte, 64<<10)
	}
	go func() {
		n, err := i.r.Read(i.buf)
		i.done <- read{n, err}
	}()
	select {
	case r := <-i.done:
		n := copy(p, i.buf[:r.n])
		if i.rest = i.buf[n:r.n]; len(i.rest) > 0 {
			return n, nil // an error comes again
		}
		return n, r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err() // nobody reads on
	}
}
