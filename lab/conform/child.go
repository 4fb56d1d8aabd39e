package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is an adapter that runs.
type child struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // of its standard output; closed at its end
	said  tail
	end   chan struct{}
	err   error // of its end; valid when ended
}

// tail keeps the last words of a program.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 2000
	t.text = append(t.text, b...)
	t.text = bytes.Clone(t.text[max(len(t.text)-most, 0):])
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

func startChild(command, env []string) (*child, error) {
	c := &child{cmd: exec.Command(command[0], command[1:]...), lines: make(chan string), end: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.said
	ownGroup(c.cmd)
	var out io.ReadCloser
	var err error
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("the adapter does not start: %w", err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		s := bufio.NewScanner(out)
		for s.Scan() {
			c.lines <- s.Text()
		}
	}()
	go func() {
		<-read // Wait closes the pipe
		c.err = c.cmd.Wait()
		close(c.end)
	}()
	return c, nil
}

// errSilent means that an adapter gave no answer for much too long.
var errSilent = fmt.Errorf("the adapter did not answer within %v", Patience)

// close tells the adapter to end, and waits for that.
func (c *child) close() error {
	text, err := c.askAdapter("close")
	if err != nil {
		return err
	}
	if text != "closed" {
		c.kill()
		return fmt.Errorf("the adapter answers close with %.100q, not with closed", text)
	}
	_ = c.in.Close()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for {
		select {
		case text, ok := <-c.lines:
			if ok {
				c.kill()
				return fmt.Errorf("the adapter says %.100q after closed", text)
			}
			<-c.end
			if c.err != nil {
				return c.endError()
			}
			return nil
		case <-limit.C:
			c.kill()
			return fmt.Errorf("the adapter did not end within %v after close", Patience)
		}
	}
}

// askAdapter sends a line and returns the answer.
func (c *child) askAdapter(line string) (string, error) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		return "", c.endError()
	}
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	select {
	case text, ok := <-c.lines:
		if !ok {
			return "", c.endError()
		}
		return strings.TrimSpace(text), nil
	case <-limit.C:
		return "", errSilent
	}
}

// kill ends the adapter and its children, without a word.
func (c *child) kill() {
	select {
	case <-c.end:
		return // its number may be another's by now
	default:
	}
	killGroup(c.cmd.Process)
	_ = c.in.Close()
	for range c.lines { // so that its reader ends
	}
	<-c.end
}

// endError is the error of an adapter that ended by itself.
func (c *child) endError() error {
	c.kill()
	text := "the adapter ended before it was told to"
	if c.err != nil {
		text += ": " + c.err.Error()
	}
	if said := strings.TrimSpace(c.said.String()); said != "" {
		text += ": " + said
	}
	return errors.New(text)
}
