package clib

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/fleet"
)

// program is a program that runs, and writes IDs to its standard output.
type program struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.Reader // of start alone; IDs are read by made
	stderr bytes.Buffer
	done   chan error

	mu   sync.Mutex
	data []byte
	once sync.Once
}

func start(t *testing.T, path string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.CommandContext(t.Context(), path, args...), done: make(chan error, 1)}
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	must(t, err)
	stdout, err := p.cmd.StdoutPipe()
	must(t, err)
	p.stdin, p.stdout = stdin, stdout
	must(t, p.cmd.Start())
	return p
}

// read keeps what the program writes until it ends.
func (p *program) read() {
	p.once.Do(func() {
		go func() {
			buf := make([]byte, 1<<16)
			for {
				n, err := p.stdout.Read(buf)
				p.mu.Lock()
				p.data = append(p.data, buf[:n]...)
				p.mu.Unlock()
				if err != nil {
					p.done <- p.cmd.Wait()
					return
				}
			}
		}()
	})
}

func (p *program) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.data)
}

func (p *program) count() int { return len(p.bytes()) / 8 }

// made waits until the program has made so many IDs.
func (p *program) made(t *testing.T, n int) {
	t.Helper()
	p.read()
	fleet.Eventually(t, fmt.Sprintf("%d IDs", n), func() error {
		if got := p.count(); got < n {
			return fmt.Errorf("only %d", got)
		}
		return nil
	})
}

func (p *program) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	must(t, p.cmd.Process.Signal(s))
}

func (p *program) stop(t *testing.T) { p.signal(t, syscall.SIGSTOP) }
func (p *program) goOn(t *testing.T) { p.signal(t, syscall.SIGCONT) }

// wait waits for the end of the program.
func (p *program) wait(t *testing.T) {
	t.Helper()
	p.read()
	if err := <-p.done; err != nil {
		t.Fatalf("%v\n%s", err, p.stderr.Bytes())
	}
}

// end tells the program to end, and returns its IDs.
func (p *program) end(t *testing.T) []int64 {
	t.Helper()
	must(t, p.stdin.Close())
	p.wait(t)
	return idsIn(p.bytes())
}
