package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A log that nobody reads stopped a server for good, and no second signal ended it.
func TestLogThatNobodyReads(t *testing.T) {
	for _, second := range []bool{false, true} {
		dir := t.TempDir()
		socket := filepath.Join(dir, "s")
		cmd := exec.Command("snowfence", "serve", "--store", "sqlite:"+dir+"/ids.db", "--http", "unix:"+socket,
			"--resp", "", "--admin", "", "--log-debug")
		if second {
			cmd.Args = append(cmd.Args, "--drain", "1h")
		}
		cmd.Stderr = fullPipe(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stuck := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
		defer stuck.Stop()
		client := &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", socket)
			},
		}}
		status := func(path string) int {
			res, err := client.Get("http://localhost" + path)
			if err != nil {
				return 0
			}
			defer res.Body.Close()
			return res.StatusCode
		}
		await := func(path string, want int) {
			for end := time.Now().Add(time.Minute); status(path) != want; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s is not %d", path, want)
				}
			}
		}
		await("/v1/default/next", http.StatusOK)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if second {
			await("/readyz", http.StatusServiceUnavailable)
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		err := cmd.Wait()
		var ended *exec.ExitError
		killed := errors.As(err, &ended) && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM
		if second != killed || !second && err != nil {
			t.Errorf("two signals %t: it ended with %v", second, err)
		}
	}
}

// fullPipe returns a pipe that is full, and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	_ = w.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := w.Write(make([]byte, 1<<21)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe is not full: %v", err)
	}
	w.Fd() // it blocks from here on, as that of another program does
	return w
}

// lateReader reads what is written after a while.
type lateReader struct {
	bytes.Buffer
	began chan struct{}
}

func (l *lateReader) Write(b []byte) (int, error) {
	<-l.began
	return l.Buffer.Write(b)
}

// What does not fit is counted, and its reader hears of it; nothing else is lost or moved.
func TestLogBufferCountsWhatItDrops(t *testing.T) {
	out := &lateReader{began: make(chan struct{})}
	var told int
	b := &logBuffer{to: out, tell: func(n int) { told += n }}
	line := []byte(strings.Repeat("x", 1023) + "\n")
	const lines = 5000
	for range lines {
		_, _ = b.Write(line)
	}
	if n := len(b.waiting); n > mostLog {
		t.Errorf("%d bytes wait", n)
	}
	close(out.began)
	for end := time.Now().Add(time.Minute); ; {
		b.flush()
		b.mu.Lock()
		idle := b.idle == nil
		b.mu.Unlock()
		if idle || time.Now().After(end) {
			break
		}
	}
	if told < lines-2*1024 || told+bytes.Count(out.Bytes(), line) != lines {
		t.Errorf("dropped %d, read %d of %d", told, bytes.Count(out.Bytes(), line), lines)
	}
}
