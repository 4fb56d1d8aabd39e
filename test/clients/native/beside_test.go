package native

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// besideTTL is the ttl of the clients.
const besideTTL = 3 * time.Second

// ledger has all IDs of all clients.
type ledger struct {
	mu    sync.Mutex
	by    map[int64]string
	made  map[string]int
	errs  map[string]string // the last word of who had none
	twice []string
}

func (l *ledger) add(name string, id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, ok := l.by[id]; ok {
		l.twice = append(l.twice, fmt.Sprintf("%d by %s and by %s", id, other, name))
	}
	l.by[id] = name
	l.made[name]++
}

func (l *ledger) of(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made[name]
}

// await waits until each holder has made n IDs.
func (l *ledger) await(t *testing.T, holders []*holder, n int) {
	limit := time.Now().Add(10 * time.Minute)
	for _, h := range holders {
		for l.of(h.name) < n && !t.Failed() {
			if time.Now().After(limit) {
				t.Errorf("%s made %d IDs, and no more", h.name, l.of(h.name))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// holder is an adapter that makes IDs until it has enough, and may be killed
// and started again.
type holder struct {
	name    string
	command []string
	env     []string
	l       *ledger

	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
}

// together is how many IDs an adapter is asked for at a time.
const together = 200

// run starts the adapter, and asks until it has made n IDs or has ended.
func (h *holder) run(t *testing.T, n int) {
	cmd := exec.Command(h.command[0], h.command[1:]...)
	cmd.Env = append(os.Environ(), h.env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	h.mu.Lock()
	h.cmd, h.in = cmd, in
	h.mu.Unlock()
	answers := bufio.NewScanner(out)
	for open := true; open && h.l.of(h.name) < n; {
		if _, err := io.WriteString(in, strings.Repeat("next\n", together)); err != nil {
			break // it was killed
		}
		failed := false
		for range together {
			if open = answers.Scan(); !open {
				break
			}
			if id, err := strconv.ParseInt(answers.Text(), 10, 64); err == nil {
				h.l.add(h.name, id)
			} else {
				failed = true
				h.l.mu.Lock()
				h.l.errs[h.name] = answers.Text()
				h.l.mu.Unlock()
			}
		}
		if failed {
			time.Sleep(50 * time.Millisecond)
		}
	}
	_, _ = io.WriteString(in, "close\n") // it may be gone
	_ = in.Close()
	for answers.Scan() {
	}
	_ = cmd.Wait() // it may have been killed
}

// signal sends a signal to the adapter.
func (h *holder) signal(s syscall.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd != nil {
		_ = h.cmd.Process.Signal(s) // it may be gone
	}
}

// Clients of all languages make IDs in one namespace, two of each: one over a
// server, and one over an agent of the host. Meanwhile they are killed and
// stopped, and the server is killed. No ID comes twice.
func TestBesideEachOther(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	goal, rounds := 1_000_000, 6
	dir := t.TempDir()
	run(t, dir, servers.Program(t, servers.Snowfence)+" namespace create default --unit 64 --store "+store(dir))
	server, url := start(t, dir)
	answers := func(args string) func() error {
		return func() error {
			_, err := try(t, dir, "curl -fsS "+args+"/v1/default/next")
			return err
		}
	}
	server.Ready(t, answers(url))
	socket := filepath.Join(dir, "s")
	agent := servers.Start(t, "agent", servers.Program(t, servers.Snowfence), []string{
		"agent", "--store", url, "--http", "unix:" + socket,
	}, []string{"HOME=" + dir})
	agent.Ready(t, answers("--unix-socket "+socket+" http://localhost"))
	l := &ledger{by: map[int64]string{}, made: map[string]int{}, errs: map[string]string{}}
	var holders []*holder
	for _, c := range judged {
		command := c.adapter(t, c.folder(t))
		for i, address := range []string{url, "unix:" + socket} {
			if c.name == "perl" {
				address = url // it knows no sockets
			}
			holders = append(holders, &holder{
				name: fmt.Sprintf("%s %d", c.name, i+1), command: command, l: l, env: []string{
					"SNOWFENCE_SERVER=" + address, "SNOWFENCE_NAMESPACE=default", "SNOWFENCE_TTL=" + besideTTL.String(),
				},
			})
		}
	}
	share := goal / len(holders)
	var all sync.WaitGroup
	for _, h := range holders {
		all.Go(func() {
			for l.of(h.name) < share && !t.Failed() {
				h.run(t, share)
			}
		})
	}
	steps := 3 * rounds
	for step := range steps {
		l.await(t, holders, share*(step+1)/(steps+1))
		h := holders[step%len(holders)]
		switch step % 3 {
		case 0:
			h.signal(syscall.SIGKILL)
		case 1:
			h.signal(syscall.SIGSTOP)
			time.Sleep(besideTTL + time.Second) // its grant ends
			h.signal(syscall.SIGCONT)
		case 2:
			server.Kill()
			server.Restart(t)
		}
	}
	all.Wait()
	for _, text := range l.twice[:min(len(l.twice), 5)] {
		t.Errorf("an ID was made twice: %s", text)
	}
	t.Logf("%d IDs, %v, the last errors %v", len(l.by), l.made, l.errs)
}
