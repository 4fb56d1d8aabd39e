package servers

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Each setting has a flag with the default and the help of its tags;
// --store is as elsewhere.
func TestSettingsAreBound(t *testing.T) {
	var c serve.Config
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	bindSettings(fs, &c, nil)
	for tag := range c.Settings() {
		name, value := tag.Get("name"), tag.Get("default")
		if tag.Get("help") == "" || name == "" && tag.Get("file") == "" {
			t.Errorf("a setting has the tags %s", tag)
		}
		if name == "" {
			continue
		}
		if f := fs.Lookup(name); value != "" && (f.DefValue != value || f.Value.String() != value) {
			t.Errorf("%s is %s by default, not %s", name, f.Value, value)
		}
	}
	if c.TTL != scope.DefaultTTL {
		t.Errorf("leases of %v, not of %v", c.TTL, scope.DefaultTTL)
	}
	other := pflag.NewFlagSet("other", pflag.ContinueOnError)
	new(command.StoreFlags).Register(other)
	if got, want := fs.Lookup("store").Usage, other.Lookup("store").Usage; got != want {
		t.Errorf("--store of serve: %s\nof other commands: %s", got, want)
	}
}

// The files in YAML that documents and manifests show are ones that the
// server takes.
func TestFilesInDocuments(t *testing.T) {
	manifest := tests.Must(os.ReadFile("../../../../deploy/kubernetes/snowfence.yaml"))
	var files []string
	d := yaml.NewDecoder(bytes.NewReader(manifest))
	kinds := map[string]bool{}
	for {
		var object struct {
			Kind string
			Data map[string]string
		}
		if err := d.Decode(&object); err != nil {
			break
		}
		kinds[object.Kind] = true
		if text := object.Data["serve.yaml"]; text != "" {
			files = append(files, text)
		}
	}
	if len(files) != 1 || !kinds["Deployment"] || !kinds["Service"] || !kinds["NetworkPolicy"] {
		t.Fatalf("the manifests have %d files, and %v", len(files), kinds)
	}
	doc := tests.Must(os.ReadFile("../../../../docs/operate/serve.md"))
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(doc, -1) {
		files = append(files, string(m[1]))
	}
	if len(files) < 2 {
		t.Fatal("docs/operate/serve.md shows no file")
	}
	for _, text := range files {
		path := t.TempDir() + "/serve.yaml"
		tests.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		var c serve.Config
		fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		bindSettings(fs, &c, nil)
		c.File = path
		if err := readSettings(fs, &c); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		if err := errors.Join(checkService(&c), c.Check()); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

// A server has a line for each of its namespaces, and one at least.
func TestServersHaveALineForEachNamespace(t *testing.T) {
	var text []string
	for _, s := range []*pb.ServerInfo{
		{Label: "a", Nodes: []*pb.HeldNodes{{Namespace: "x"}, {Namespace: "y"}}, Failing: []string{"z"}},
		{Label: "b"},
		{Label: "c", Failing: []string{"z"}},
	} {
		for _, row := range serverRows(s, time.Now()) {
			text = append(text, row[0]+":"+row[5])
		}
	}
	const want = "a:x 0-0 (ended), :y 0-0 (ended), :z (no lease), b:, c:z (no lease)"
	if is := strings.Join(text, ", "); is != want {
		t.Error(is)
	}
}
