package audit

import (
	"fmt"
	"io"
	"sync"
)

// job is a block on its way through a worker.
type job struct {
	text    []byte
	dropped bool // a line that was too long followed
	batch   Batch
	lines   int64
	done    chan struct{}
}

// readBlocks reads all blocks and hands on what is in them; workers turn text
// into IDs in between. It counts lines from those before, and returns how many
// there are.
func readBlocks(in *blocks, parse blockFunc, lines int64, yield func(*Batch) error) (int64, error) {
	n := workers()
	todo := make(chan *job, 2*n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for j := range todo {
				j.lines = parse(j.text, &j.batch)
				j.done <- struct{}{}
			}
		})
	}
	defer wg.Wait()
	defer close(todo)

	var open []*job // in the order of the stream
	var free []*job
	first := func() error {
		j := open[0]
		open = open[1:]
		<-j.done
		j.batch.shift(lines)
		lines += j.lines
		if j.dropped {
			lines++
			j.batch.bad(lines, fmt.Errorf("the line is longer than %d bytes", maxLine))
		}
		free = append(free, j)
		return yield(&j.batch)
	}
	for {
		if len(free) == 0 && len(open) < 2*n {
			free = append(free, &job{done: make(chan struct{}, 1)})
		}
		if len(free) == 0 {
			if err := first(); err != nil {
				return lines, err
			}
			continue
		}
		j := free[len(free)-1]
		free = free[:len(free)-1]
		text, dropped, err := in.next(j.text)
		if err != nil {
			for len(open) > 0 {
				if err := first(); err != nil {
					return lines, err
				}
			}
			if err == io.EOF {
				err = nil
			}
			return lines, err
		}
		j.text, j.dropped = text, dropped
		j.batch.reset()
		todo <- j
		open = append(open, j)
	}
}
