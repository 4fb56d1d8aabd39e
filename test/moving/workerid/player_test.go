//go:build unix

// Package workerid tests worker numbers over real Redis servers, beside the
// original client of snow-drift in processes of its own.
package workerid

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	original "github.com/yitter/idgenerator-go/regworkerid"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/redisstore/workerid"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

var must = tests.NoError

// playerEnv says which player a process is that this test has started.
const playerEnv = "SNOWFENCE_TEST_PLAYER"

// TestMain is also the program that the tests start: it answers each line
// with a line.
func TestMain(m *testing.M) {
	play := map[string]func(words []string) string{"original": playOriginal, "ours": playOurs}[os.Getenv(playerEnv)]
	if play == nil {
		flag.Parse()
		if err := flag.Set("test.parallel", "16"); err != nil { // they wait, and compute little
			panic(err)
		}
		os.Exit(m.Run())
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println(play(strings.Fields(in.Text())))
	}
	os.Exit(0)
}

// playOriginal is a process with the original client.
func playOriginal(words []string) string {
	switch words[0] {
	case "one": // ADDRESS MIN MAX LIFETIME [MASTER]
		return fmt.Sprint(original.RegisterOne(originalConf(words[1:])))
	case "unregister":
		original.UnRegister()
		return "done"
	case "validate":
		return fmt.Sprint(original.Validate(int32(number(words[1]))))
	}
	return "unknown"
}

func originalConf(words []string) original.RegisterConf {
	c := original.RegisterConf{
		Address: words[0], TotalCount: 1, MinWorkerId: int32(number(words[1])), MaxWorkerId: int32(number(words[2])),
		LifeTimeSeconds: int32(number(words[3])),
	}
	if len(words) > 4 {
		c.MasterName = words[4]
	}
	return c
}

var ours struct { // of a process
	g *snowfence.Generator
}

// playOurs is a process with a generator over a number.
func playOurs(words []string) string {
	switch words[0] {
	case "open": // ADDRESS MIN MAX TTL
		g, err := openOurs(words[1:])
		if err != nil {
			return err.Error()
		}
		ours.g = g
		gr, _ := g.Grant()
		return fmt.Sprint(gr.Node)
	case "ids": // COUNT: so many, or fewer if there are no more for a second
		var out []string
		for range number(words[1]) {
			id, err := ours.g.Next(context.Background())
			if err != nil {
				break
			}
			out = append(out, id.String())
		}
		return strings.Join(out, " ")
	case "close":
		return fmt.Sprint(ours.g.Close())
	}
	return "unknown"
}

func openOurs(words []string) (*snowfence.Generator, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{words[0]}, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		return nil, err
	}
	r, err := workerid.New(c, &workerid.Options{
		Min: number(words[1]), Max: number(words[2]), TTL: time.Duration(number(words[3])) * time.Second, Shared: true,
	})
	if err != nil {
		return nil, err
	}
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience())
	defer cancel()
	f, err := r.Fence(ctx, s)
	if err != nil {
		return nil, err
	}
	return snowfence.New(snowfence.Config{Fence: f})
}

// number reads a number that this test has written itself.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// player is such a process.
type player struct {
	t       testing.TB
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string
}

func start(t testing.TB, kind string) *player {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	p := &player{t: t, cmd: exec.Command(path), answers: make(chan string, 1)}
	p.cmd.Env = append(os.Environ(), playerEnv+"="+kind)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	must(t, p.cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			p.answers <- strings.TrimSpace(line)
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		for done := false; !done; {
			select {
			case <-p.answers:
			case <-read:
				done = true
			}
		}
		_ = p.cmd.Wait() // it was killed
	})
	return p
}

// tell sends a line without waiting for the answer.
func (p *player) tell(words ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, words...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) answer() string {
	p.t.Helper()
	select {
	case a := <-p.answers:
		return a
	case <-time.After(fleet.Patience()):
		p.t.Fatal("a process does not answer")
		return ""
	}
}

func (p *player) ask(words ...any) string {
	p.t.Helper()
	p.tell(words...)
	return p.answer()
}

// number asks for a worker number.
func (p *player) number(words ...any) int64 {
	p.t.Helper()
	a := p.ask(words...)
	n, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		p.t.Fatalf("%v: %s", words, a)
	}
	return n
}

// signal stops a process, or lets it go on.
func (p *player) signal(s syscall.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(s))
}

// open connects to servers as our own tests do.
func open(t testing.TB, o rueidis.ClientOption) rueidis.Client {
	t.Helper()
	o.DisableCache = true
	c, err := rueidis.NewClient(o)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func single(t testing.TB, address string) rueidis.Client {
	t.Helper()
	return open(t, rueidis.ClientOption{InitAddress: []string{address}, ForceSingleClient: true})
}

func registrar(t testing.TB, c rueidis.Client, o workerid.Options) *workerid.Registrar {
	t.Helper()
	if o.TTL == 0 {
		o.TTL = ttl
	}
	r, err := workerid.New(c, &o)
	must(t, err)
	t.Cleanup(func() { _ = r.UnRegister() }) // the server may be gone
	return r
}

// ttl is long enough for a machine that is several times slower.
const ttl = 15 * time.Second

func one(t testing.TB, r *workerid.Registrar) *workerid.Worker {
	t.Helper()
	w, err := r.RegisterOne(t.Context())
	must(t, err)
	return w
}

// lost waits until a number is lost.
func lost(t testing.TB, w *workerid.Worker) {
	t.Helper()
	select {
	case <-w.Done():
	case <-time.After(fleet.Patience()):
		t.Fatalf("no program noticed that number %d is lost", w.Number())
	}
	if err := w.Err(); !errors.Is(err, workerid.ErrLost) {
		t.Fatal(err)
	}
}

func key(n int64) string { return "IdGen:WorkerId:Value:" + strconv.FormatInt(n, 10) }
