// Package java tests the client in Java over a real server. A JDK is one of the languages of make
// full.
package java

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

const client = "../../../clients/java"

// serve starts a server over a file in a folder, at an address or a socket.
func serve(t *testing.T, dir, address string) {
	t.Helper()
	s := servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), []string{
		"serve", "--store", "sqlite:" + filepath.Join(dir, "ids.db"), "--http", address, "--resp", "",
	}, []string{"HOME=" + dir})
	s.Ready(t, func() error {
		if path, ok := strings.CutPrefix(address, "unix:"); ok {
			c, err := net.Dial("unix", path)
			if err != nil {
				return err
			}
			return c.Close()
		}
		res, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return err
		}
		return res.Body.Close()
	})
}

// address returns where a server of a test listens.
func address(t *testing.T) string { return servers.Address(servers.Ports(t, 1)[0]) }

// run runs a command in a folder, with the address of a server.
func run(t *testing.T, folder, url string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "SNOWFENCE_SERVER="+url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return string(out)
}

// compile compiles the client in a folder and its tests, and returns a class path.
func compile(t *testing.T, folder string) string {
	t.Helper()
	servers.Need(t, "java", "javac", "java")
	out := t.TempDir()
	for _, pattern := range []string{"src/module-info.java src/org/snowfence/*.java", "tests/*.java"} {
		run(t, folder, "", "bash", "-euc", "javac -Xlint:all -Werror --release 17 -cp "+out+" -d "+out+" "+pattern)
		if err := os.RemoveAll(filepath.Join(out, "module-info.class")); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestClient(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	dir, at, classes := t.TempDir(), address(t), compile(t, client)
	serve(t, dir, at)
	socket := filepath.Join(dir, "s")
	serve(t, dir, "unix:"+socket)
	run(t, dir, "http://"+at, "curl", "-fsS", "-X", "PUT", "-d", "{}", "http://"+at+"/v1/bills/sequence")
	if out := run(t, dir, "http://"+at, "java", "-cp", classes, "Test", socket); !strings.HasSuffix(out, "ok\n") {
		t.Error(out)
	}
}

// The vectors hold, and a wrong digit in any file is noticed.
func TestVectors(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	classes := compile(t, client)
	const vectors = "../../../testdata/specification"
	t.Log(run(t, ".", "", "java", "-cp", classes, "org.snowfence.Vectors", vectors))
	for name, change := range map[string][2]string{
		"layouts.json": {`"tick_ns": "10000000"`, `"tick_ns": "10000001"`},
		"ids.json":     {`"unix_ns": "1`, `"unix_ns": "2`},
		"texts.json":   {`"zbase32": "y"`, `"zbase32": "b"`},
		"grants.json":  {`"id": "6412"`, `"id": "6413"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(vectors)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !strings.Contains(string(text), change[0]) {
				t.Fatalf("%s has no %s, %v", name, change[0], err)
			}
			wrong := strings.Replace(string(text), change[0], change[1], 1)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(wrong), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "java", "-cp", classes, "org.snowfence.Vectors", dir)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "AssertionError") {
				t.Errorf("the wrong vector passes: %v\n%s", err, out)
			}
		})
	}
}

// The program of the page makes IDs with the jar alone, and its other files are whole.
func TestPackage(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	servers.Need(t, "java", "javac", "java", "jar")
	dir, at := t.TempDir(), address(t)
	serve(t, dir, at)
	files := filepath.Join(dir, "files")
	run(t, "../../..", "", "scripts/java.sh", files)
	jars, err := filepath.Glob(filepath.Join(files, "snowfence-*"))
	if err != nil || len(jars) != 3 {
		t.Fatal(jars, err)
	}
	page, err := os.ReadFile("../../../docs/start/java.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "\n## Make IDs\n")
	text, _, ends := strings.Cut(text, "\nSave it as `Main.java`")
	if !ok || !ends {
		t.Fatal("the page has no program")
	}
	text = strings.ReplaceAll("\n"+text, "\n    ", "\n")
	text = strings.ReplaceAll(text, `"http://127.0.0.1:8080"`, `"http://`+at+`"`)
	if err := os.WriteFile(filepath.Join(dir, "Main.java"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	jar := strings.TrimSuffix(jars[2], ".pom") + ".jar"
	t.Log(run(t, dir, "", "java", "-cp", jar, "Main.java"))
	t.Log(run(t, dir, "", "java", "--module-path", jar, "--add-modules", "org.snowfence", "Main.java"))
	list := run(t, dir, "", "jar", "--list", "--file", jars[0])
	if !strings.Contains(list, "org/snowfence/Lease.java") {
		t.Errorf("the sources are not in %s: %s", jars[0], list)
	}
}

// mistakes are changes to the client, with the rule of the referee that each breaks.
var mistakes = map[string]struct{ rule, file, old, new string }{
	"it stamps beyond until": {
		"outage", "Stamps", "t >= until ||", "until == 0 ||",
	},
	"it ignores a loss": {
		"taken", "Lease", "held && why.lost()", "false",
	},
	"it goes on after 404": {
		"gone", "SnowfenceException", "status == 404 || status == 409",
		"status == 409",
	},
	"it repeats an attempt": {
		"renew", "Tickets", "random.nextBytes(bytes);", "",
	},
	"it uses a sequence number twice": {
		"sequence", "Stamps", "return id + place * step;", "return id + place / 2 * step;",
	},
	"it uses numbers below first": {
		"sequence", "Stamps", ": layout.first;", ": 0;",
	},
	"it forgets a Renew without an answer": {
		"lost-renewal", "Tickets", "earlier.add(attempt);", "earlier.clear();",
	},
	"it forgets an Acquire without an answer": {
		"lost-acquire", "Tickets", "earlier.add(attempt);", "earlier.clear();",
	},
	"it keeps the old ticket": {
		"renew", "Tickets", "ticket = g.ticket();", "ticket = held() ? ticket : g.ticket();",
	},
	"it gives back what it used": {
		"renew", "Stamps", "Math.max(tick + 1, from)", "from",
	},
	"it stamps below a raised from": {
		"raised", "Stamps", "Math.max(now, from)", "now",
	},
	"it forgets what it stamped of a node": {
		"again", "Stamps", "pairs.getOrDefault(l", "pairs.getOrDefault(null",
	},
	"it does not say what it lost": {
		"taken", "Tickets", "lost = ticket;", "",
	},
	"it needs a node number": {
		"zero", "Grant", `answer.getOrDefault(key, "0")`, "answer.get(key)",
	},
}

// referee runs the program's referee on a class path, and returns its exit code.
func referee(t *testing.T, classes string, args ...string) (code int, out string) {
	t.Helper()
	args = append(append([]string{"conform"}, args...), "java", "-cp", classes, "Adapter")
	text, err := exec.CommandContext(t.Context(), servers.Program(t, servers.Snowfence), args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(text)
}

// The referee finds each mistake in a copy of the client.
func TestMistakes(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(client)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "src/org/snowfence", m.file+".java")
			text, err := os.ReadFile(path)
			if err != nil || strings.Count(string(text), m.old) != 1 {
				t.Fatalf("%s has %q %d times, %v", path, m.old, strings.Count(string(text), m.old), err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, out := referee(t, compile(t, dir), "--rule", m.rule); code != 3 {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}
