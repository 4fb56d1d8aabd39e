package chart

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// folder is where a test works as a person at a shell would, and its
// program is in PATH.
type folder struct {
	t       *testing.T
	dir     string
	program string
}

func newFolder(t *testing.T, program string) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir(), program: filepath.Join(program, "snowfence")}
	t.Setenv("PATH", program+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("SNOWFENCE_STORE", "sqlite:"+f.dir+"/ids.db")
	return f
}

func (f *folder) write(file, text string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// shell returns what a command of the notes prints.
func (f *folder) shell(line string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = f.dir
	var diagnostics strings.Builder
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("%s: %v: %s", line, err, diagnostics.String())
	}
	return string(out)
}

// bring has what a user with these values has already: secrets of
// namespaces, and certificates of clients.
func (f *folder) bring(r *release) {
	f.t.Helper()
	settings := parse(f.t, r.config.Data["serve.yaml"])
	secrets, _ := settings["secret"].(map[string]any)
	for _, paths := range secrets {
		for path := range strings.SplitSeq(paths.(string), ":") {
			f.shell("snowfence secret new " + filepath.Base(path))
		}
	}
	if settings["tls-client-ca"] != nil {
		f.shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=shop " +
			"-addext extendedKeyUsage=clientAuth -keyout client.key -out client.crt && cp client.crt ca.crt")
	}
}

// namespaces runs what the job runs.
func (f *folder) namespaces(r *release) {
	f.t.Helper()
	for _, c := range r.job.Spec.Template.Spec.Containers {
		args := strings.Join(c.Args, " ")
		f.shell("snowfence " + strings.ReplaceAll(args, "/etc/snowfence/", f.dir+"/etc/snowfence/"))
	}
}

// secret is what kubectl would put into a secret by these arguments.
func (f *folder) secret(arguments string) map[string]string {
	f.t.Helper()
	data := map[string]string{}
	for _, m := range regexp.MustCompile(`--(\S+?)=(\S+)`).FindAllStringSubmatch(arguments, -1) {
		key, value := m[2], ""
		switch m[1] {
		case "from-literal":
			key, value, _ = strings.Cut(m[2], "=")
		case "from-file":
			value = string(read(f.t, filepath.Join(f.dir, m[2])))
		case "cert", "key":
			key = map[string]string{"cert": "tls.crt", "key": "tls.key"}[m[1]]
			value = string(read(f.t, filepath.Join(f.dir, m[2])))
		default:
			f.t.Fatalf("no test knows --%s", m[1])
		}
		data[key] = value
	}
	return data
}

// serve runs the server with the settings of a release until the test ends,
// and returns the address of HTTP.
func (f *folder) serve(r *release) string {
	f.t.Helper()
	settings := strings.ReplaceAll(r.config.Data["serve.yaml"], "/etc/snowfence/", f.dir+"/etc/snowfence/")
	settings = regexp.MustCompile(`0\.0\.0\.0:\d+`).ReplaceAllString(settings, "127.0.0.1:0")
	file := filepath.Join(f.dir, "etc/snowfence/serve.yaml")
	f.write(file, settings)
	f.shell("snowfence serve --check-config --config " + file)
	args := r.deployment.Spec.Template.Spec.Containers[0].Args
	if len(args) != 3 || args[2] != "/etc/snowfence/serve.yaml" {
		f.t.Fatalf("the pods run %q", args)
	}
	cmd := exec.Command(f.program, args[0], args[1], file)
	out := must(cmd.StderrPipe())
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	address, said := make(chan string, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		found := regexp.MustCompile(`https://(127\.0\.0\.1:\d+)`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if m := found.FindStringSubmatch(lines.Text()); m != nil && len(address) == 0 {
				address <- m[1]
			}
		}
		close(address)
		said <- all.String()
	}()
	f.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		text := <-said
		if err := cmd.Wait(); err != nil {
			f.t.Errorf("the server: %v\n%s", err, text)
		}
	})
	got, ok := <-address
	if !ok {
		f.t.Fatal("the server ended")
	}
	return got
}
