package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A log that nobody reads stopped a server for good, and no second signal
// ended it.
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
		noError(t, cmd.Start())
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
			go repeatSignal(cmd.Process)
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
	noError(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	_ = w.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := w.Write(make([]byte, 1<<21)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe is not full: %v", err)
	}
	w.Fd() // it blocks from here on, as that of another program does
	return w
}
