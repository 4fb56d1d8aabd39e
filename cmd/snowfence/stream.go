package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/snowfence/snowfence"
)

// streamBatch is how many IDs are made, formatted and written at once: few enough to stay
// in the processor's cache, many enough that one atomic step, one clock read and one
// write cost nothing an ID.
const streamBatch = 4096

// filler is the part of a generator that a stream needs.
type filler interface {
	Fill(ctx context.Context, dst []snowfence.ID) (int, error)
}

// stream writes n IDs to w and counts those written in done. IDs are made and formatted
// while the batch before is being written. When ctx ends or the generator fails, what was
// made before is written first, so that no ID is lost.
func stream(ctx context.Context, g filler, f *formatter, w io.Writer, n int64, done *atomic.Int64) error {
	full := make(chan chunk)
	free := make(chan []byte, 2)
	free <- nil
	free <- nil
	stopped := make(chan struct{}) // the writer gave up
	written := make(chan error, 1)
	go func() {
		written <- writeChunks(w, full, free, done)
		close(stopped)
	}()
	err := produce(ctx, g, f, n, full, free, stopped)
	close(full)
	if writeErr := <-written; writeErr != nil {
		return fmt.Errorf("standard output: %w", writeErr)
	}
	return err
}

type chunk struct {
	text []byte
	ids  int
}

func writeChunks(w io.Writer, full <-chan chunk, free chan<- []byte, done *atomic.Int64) error {
	for c := range full {
		if _, err := w.Write(c.text); err != nil {
			return err
		}
		done.Add(int64(c.ids))
		free <- c.text[:0]
	}
	return nil
}

func produce(ctx context.Context, g filler, f *formatter, n int64, full chan<- chunk, free <-chan []byte,
	stopped <-chan struct{},
) error {
	ids := make([]snowfence.ID, min(n, streamBatch))
	for n > 0 {
		// Fill looks at ctx only when it has to wait.
		if err := ctx.Err(); err != nil {
			return err
		}
		got, err := g.Fill(ctx, ids[:min(n, streamBatch)])
		if got > 0 {
			var buf []byte
			select {
			case buf = <-free:
			case <-stopped:
				return nil // the writer's error says more
			}
			select {
			case full <- chunk{f.append(buf, ids[:got]), got}:
			case <-stopped:
				return nil
			}
			n -= int64(got)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
