package servers

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/spf13/pflag"
)

// The program has all commands that the unit and the image use. The unit
// waits as long as a stop takes, and knows the exit code for wrong
// settings.
func TestCommandsOfDeploy(t *testing.T) {
	read := func(path string) string {
		data := tests.Must(os.ReadFile("../../../../deploy/" + path))
		return string(data)
	}
	unit, image := read("systemd/snowfence.service"), read("docker/Dockerfile")
	var commands [][]string
	for _, m := range regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindAllStringSubmatch(unit, -1) {
		commands = append(commands, strings.Fields(m[1]))
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:HEALTHCHECK .*CMD|CMD) (\[.*\])$`).FindAllStringSubmatch(image, -1) {
		var words []string
		if err := json.Unmarshal([]byte(m[1]), &words); err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		if !strings.HasSuffix(words[0], "snowfence") {
			words = append([]string{"/snowfence"}, words...) // behind the entry point
		}
		commands = append(commands, words)
	}
	if len(commands) != 3 {
		t.Fatalf("%d commands, not one of the unit and two of the image: %q", len(commands), commands)
	}
	for _, words := range commands {
		if len(words) < 2 || words[1] != "serve" {
			t.Fatalf("%q", words)
		}
		fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		bindSettings(fs, &serve.Config{}, nil)
		if err := fs.Parse(words[2:]); err != nil || fs.NArg() > 0 {
			t.Errorf("%q: %v", words, err)
		}
	}
	setting := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(unit)
		if m == nil {
			t.Fatalf("the unit has no %s", name)
		}
		return m[1]
	}
	var c serve.Config
	bindSettings(pflag.NewFlagSet("serve", pflag.ContinueOnError), &c, nil)
	if d, err := time.ParseDuration(setting("TimeoutStopSec") + "s"); err != nil || d <= c.Drain+c.Stop {
		t.Errorf("systemd gives a stop %v, the server may take %v: %v", d, c.Drain+c.Stop, err)
	}
	if got := setting("RestartPreventExitStatus"); got != "2" || command.ExitUsage != 2 {
		t.Errorf("wrong settings end the program with %d, and the unit knows %s", command.ExitUsage, got)
	}
	for _, text := range []string{unit, read("systemd/snowfence-agent.service")} {
		if !strings.Contains(text, "\nEnvironment=GOTRACEBACK=crash\nLimitCORE=1\n") {
			t.Error("a panic ends a unit for good, or with a core dump that has secrets")
		}
	}
	ignored := strings.Fields(read("docker/Dockerfile.dockerignore"))
	for _, m := range regexp.MustCompile(`(?m)^\t\./([^/\s]+)`).FindAllStringSubmatch(read("../go.work"), -1) {
		if slices.Contains(ignored, m[1]) {
			t.Errorf("go.work uses ./%s, and the build of the image does not get it", m[1])
		}
	}
	agent := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/snowfence agent (.*)$`).FindStringSubmatch(
		read("systemd/snowfence-agent.service"))
	if agent == nil {
		t.Fatal("the unit of the agent starts no agent")
	}
	e := command.New(nil, nil, nil, nil)
	tests.NoError(t, agentCommand(e).ParseFlags(strings.Fields(agent[1])))
	if !strings.Contains(image, "\nFROM scratch\n") || !strings.Contains(image, "\nUSER 65532:65532\n") {
		t.Error("the image is not the program alone, of a user who is not root")
	}
}
