package chart

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

var createSecret = regexp.MustCompile(`^kubectl -n ids create secret (?:generic|tls) (\S+) (.+)$`)

// The notes make the secrets that the pods mount. With these and the
// chart's settings, a server starts, and the request of the notes gets an
// ID.
func TestNotes(t *testing.T) {
	program := build(t)
	for name, text := range map[string]string{"defaults": "{}", "everything": everything} {
		t.Run(name, func(t *testing.T) {
			v := parse(t, text)
			r := load(t, "snowfence", v)
			texts := must(render("snowfence", v))
			work := newFolder(t, program)
			work.bring(r)
			secrets := map[string]map[string]string{}
			ask := ""
			for _, line := range commands(t, texts[notes]) {
				switch m := createSecret.FindStringSubmatch(line); {
				case m != nil:
					secrets[m[1]] = work.secret(m[2])
				case strings.HasPrefix(line, "curl "):
					ask = line
				case strings.HasPrefix(line, "kubectl "):
					checkTarget(t, r, line)
				case strings.HasPrefix(line, "snowfence token new "):
					t.Setenv("TOKEN", strings.TrimSpace(work.shell(line)))
				default:
					work.shell(line)
				}
			}
			work.mount(r, secrets)
			work.namespaces(r)
			work.namespaces(r) // a job that runs again changes nothing
			address := work.serve(r)
			const forwarded = "127.0.0.1:8443"
			if !strings.Contains(ask, forwarded) {
				t.Fatalf("no request to %s in %q", forwarded, ask)
			}
			id := work.shell(strings.ReplaceAll(ask, forwarded, address) + " --silent --show-error --fail")
			if !regexp.MustCompile(`\d{15}`).MatchString(id) {
				t.Errorf("%s: %s", ask, id)
			}
		})
	}
}

// commands are the indented lines of a text.
func commands(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			found = append(found, strings.TrimSpace(command))
		}
	}
	if len(found) < 8 {
		t.Fatalf("only %d commands in\n%s", len(found), text)
	}
	return found
}

// checkTarget looks whether what a command of kubectl is about is there.
func checkTarget(t *testing.T, r *release, line string) {
	t.Helper()
	pod, service := r.deployment.Spec.Template, r.services[0]
	switch words := strings.Fields(line); words[3] {
	case "rollout":
		if words[5] != "deployment/"+r.deployment.Name {
			t.Errorf("%s: the deployment is %s", line, r.deployment.Name)
		}
	case "port-forward":
		if words[4] != "service/"+service.Name || words[5] != "8443:443" || service.Spec.Ports[0].Port != 443 {
			t.Errorf("%s: the service is %v", line, service)
		}
	case "logs":
		label, value, _ := strings.Cut(words[5], "=")
		if pod.Labels[label] != value {
			t.Errorf("%s: pods have %v", line, pod.Labels)
		}
	default:
		t.Errorf("no test knows %s", line)
	}
}

// build builds the program of this repository, by its workspace.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./cmd/snowfence")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOWORK=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// keys are those that each secret must have: what the pods read of it.
func keys(r *release) map[string][]string {
	found := map[string][]string{}
	for _, e := range r.deployment.Spec.Template.Spec.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			ref := e.ValueFrom.SecretKeyRef
			found[ref.Name] = append(found[ref.Name], ref.Key)
		}
	}
	for dir, secret := range mounts(r) {
		for _, m := range regexp.MustCompile(dir+`/([^\s:"]+)`).FindAllStringSubmatch(r.config.Data["serve.yaml"], -1) {
			found[secret] = append(found[secret], m[1])
		}
		slices.Sort(found[secret])
	}
	return found
}

// mounts are the secrets that are mounted, by their folders.
func mounts(r *release) map[string]string {
	pod, found := r.deployment.Spec.Template.Spec, map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if s := pod.Volumes[i].Secret; s != nil {
			found[m.MountPath] = s.SecretName
		}
	}
	return found
}

// mount puts secrets where the pods have them. All that they need must be
// in them, and no more.
func (f *folder) mount(r *release, secrets map[string]map[string]string) {
	f.t.Helper()
	want := keys(r)
	if g, w := slices.Sorted(maps.Keys(secrets)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		f.t.Fatalf("the notes make the secrets %v, the pods need %v", g, w)
	}
	for name, data := range secrets {
		if g := slices.Sorted(maps.Keys(data)); !slices.Equal(g, want[name]) {
			f.t.Errorf("the notes put %v into %s, the pods need %v", g, name, want[name])
		}
	}
	for dir, secret := range mounts(r) {
		for key, text := range secrets[secret] {
			f.write(filepath.Join(f.dir, dir, key), text)
		}
	}
}
