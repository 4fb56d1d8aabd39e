//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// token is the clients' token: the servers are measured with
// authentication.
const token = "benchmark"

// wide is the layout for runs: 2^17 IDs a millisecond and node, and 64
// nodes, of which the server leases 16.
const wide = "time=40,node=6,seq=17,epoch=2025-01-01,tick=1ms"

// servers are the measured servers, side by side.
type servers struct {
	snowfence, redis, bare process
	resp, redisPort        int
	http, bareHTTP         string
}

type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// on pins a command to a core.
func on(core int, name string, args ...string) *exec.Cmd {
	return exec.Command("taskset", append([]string{"-c", strconv.Itoa(core), name}, args...)...)
}

func (p process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
	}
}

// processorTime returns the processor time of a process in seconds, with
// the kernel's for it.
func (p process) processorTime() (float64, error) {
	// taskset becomes the program: the number stays
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	sum := 0.0
	for _, ticks := range f[11:13] { // utime and stime, see proc(5)
		n, err := strconv.ParseFloat(ticks, 64)
		if err != nil {
			return 0, err
		}
		sum += n / 100
	}
	return sum, nil
}

func (s *servers) stop() {
	s.snowfence.kill()
	s.redis.kill()
	s.bare.kill()
}

func (b *bench) start() (_ *servers, err error) {
	s := &servers{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	var ports [4]int
	for i := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close()
		ports[i] = ln.Addr().(*net.TCPAddr).Port
		ln.Close()
	}
	s.resp, s.redisPort = ports[0], ports[1]
	s.http, s.bareHTTP = fmt.Sprint("127.0.0.1:", ports[2]), fmt.Sprint("127.0.0.1:", ports[3])
	tokens := filepath.Join(b.dir, "tokens.yaml")
	text := fmt.Sprintf("tokens:\n  - name: bench\n    sha256: %x\n    verbs: [ids, read, lease, manage]\n",
		sha256.Sum256([]byte(token)))
	if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if s.snowfence, err = b.launchServer(b.program, "serve", "--store", "mem:", "--tokens", tokens, "--block", "16",
		"--http", s.http, "--resp", fmt.Sprint("127.0.0.1:", s.resp)); err != nil {
		return nil, err
	}
	if s.redis, err = b.launchServer("redis-server", "--port", strconv.Itoa(s.redisPort), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no"); err != nil {
		return nil, err
	}
	if s.bare, err = b.launchServer(b.bare, s.bareHTTP); err != nil {
		return nil, err
	}
	for _, addr := range []string{
		s.http, fmt.Sprint("127.0.0.1:", s.resp), fmt.Sprint("127.0.0.1:", s.redisPort),
		s.bareHTTP,
	} {
		if err := reachable(addr); err != nil {
			return nil, err
		}
	}
	if err := s.createByPath("counter/sequence", `{}`); err != nil {
		return nil, err
	}
	return s, s.createByPath("wide", fmt.Sprintf(`{"layout":%q}`, wide))
}

// launchServer starts a server on the first core.
func (b *bench) launchServer(name string, args ...string) (process, error) {
	cmd := on(0, name, args...)
	log, err := os.Create(filepath.Join(b.dir, filepath.Base(name)+".log"))
	if err != nil {
		return process{}, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, b.dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+b.dir, "HOME="+b.dir, "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	p := process{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is killed at the end
		close(p.done)
	}()
	return p, nil
}

func reachable(addr string) error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// createByPath makes a namespace or a sequence.
func (s *servers) createByPath(path, body string) error {
	req, err := http.NewRequest(http.MethodPut, "http://"+s.http+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("creating %s: %s", path, text)
	}
	return nil
}
