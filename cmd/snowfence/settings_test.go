package main

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// The reference in docs/operate/settings.md is that of the flags.
func TestSettingsAreCurrent(t *testing.T) {
	doc, err := os.ReadFile("../../docs/operate/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := withSettings(doc, (&program{}).serveCommand().Flags())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(doc, want) {
		t.Error("docs/operate/settings.md has not the settings of the program: run go generate ./... in cmd")
	}
	if _, err := withSettings([]byte("nothing"), (&program{}).serveCommand().Flags()); err == nil {
		t.Error("a document without the marks is no error")
	}
}

// The files in YAML that documents and manifests show are ones that the server takes.
func TestFilesInDocuments(t *testing.T) {
	manifest, err := os.ReadFile("../../deploy/kubernetes/snowfence.yaml")
	if err != nil {
		t.Fatal(err)
	}
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
	doc, err := os.ReadFile("../../docs/operate/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(doc, -1) {
		files = append(files, string(m[1]))
	}
	if len(files) < 2 {
		t.Fatal("docs/operate/serve.md shows no file")
	}
	for _, text := range files {
		path := t.TempDir() + "/serve.yaml"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := serveFlags{file: path}
		fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.register(fs)
		if err := f.readFile(fs); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		if err := errors.Join(f.checkService(), f.config.Check()); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}
