package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// The help of each command fits a terminal, and its commands are those that
// were written.
func TestHelpFitsATerminal(t *testing.T) {
	n := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		n++
		var out bytes.Buffer
		cmd.SetOut(&out)
		noError(t, cmd.Help())
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line) > show.Columns+1 && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: %s", cmd.CommandPath(), line)
			}
		}
		if !strings.Contains(strings.ReplaceAll(out.String(), " \\\n    ", " "), cmd.Example) {
			t.Errorf("%s has other examples", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot(command.New(nil, nil, nil, nil)))
	if n < 20 {
		t.Errorf("only %d commands", n)
	}
}

// HTTP takes the times that the shell takes, also those whose + a query
// made a space.
func TestTimesOfRequests(t *testing.T) {
	want := must(command.ParseTime("at", "2019-05-17T08:30:00Z"))
	for _, text := range []string{
		"2019-05-17 08:30:00+00", "2019-05-17 08:30:00 00", "2019-05-17 14:00:00 05:30", "2019-05-17T10:30:00 02:00",
		"2019-05-17 08:30:00", "2019-05-17T08:30:00", "1558081800000",
	} {
		if got, err := server.ParseTime(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"2019-05-17 later", "20190517", "2019", "1558081800"} {
		fails(t, errOf(server.ParseTime(text)), "%s", text)
	}
}

func TestRearrange(t *testing.T) {
	root := newRoot(command.New(nil, nil, nil, nil))
	for args, want := range map[string]string{
		"":                               "",
		"decode":                         "decode --",
		"decode -5":                      "decode -- -5",
		"decode -5 --json":               "decode --json -- -5",
		"decode 1 -5 --layout discord 2": "decode --layout discord -- 1 -5 2",
		"decode --layout=discord -5":     "decode --layout=discord -- -5",
		"decode --json -- --5":           "decode --json -- --5",
		"decode -5 --layout":             "decode --layout -- -5",
		"decode -h -5":                   "decode -h -- -5",
		"decode - -x":                    "decode -- - -x",
		"new -n 5":                       "new -n 5",
		"nonsense -5":                    "nonsense -5",
	} {
		if got := command.MoveIDsLast(root, strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q becomes %q, want %q", args, got, want)
		}
	}
}

var manFolder = flag.String("man", "", "write the man pages into this `folder`")

// The man pages are made here, for a release and for the site, because what
// makes them would take 0.25 MB of the program.
func TestManPages(t *testing.T) {
	pages := allManPages(t)
	if len(pages) < 20 {
		t.Fatalf("only %d pages", len(pages))
	}
	for name, text := range pages {
		if !strings.Contains(text, ".SH SYNOPSIS") {
			t.Errorf("%s has no synopsis", name)
		}
		if *manFolder == "" {
			continue
		}
		noError(t, os.WriteFile(filepath.Join(*manFolder, name), []byte(text), 0o644))
	}
}

// allManPages returns the pages of all commands, by their file names.
func allManPages(t *testing.T) map[string]string {
	root := newRoot(command.New(nil, nil, nil, nil))
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	pages := map[string]string{}
	manPages(t, root, pages)
	return pages
}

// manPages makes the pages of a command and those below it, without a date,
// so that pages change only when the commands do.
func manPages(t *testing.T, cmd *cobra.Command, pages map[string]string) {
	t.Helper()
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			manPages(t, sub, pages)
		}
	}
	var page bytes.Buffer
	header := doc.GenManHeader{Section: "1", Source: "Snowfence", Manual: "Snowfence", Date: &time.Time{}}
	if err := doc.GenMan(cmd, &header, &page); err != nil {
		t.Fatalf("man page of %s: %v", cmd.CommandPath(), err)
	}
	undated := bytes.Replace(page.Bytes(), []byte(time.Time{}.Format(`"Jan 2006"`)), []byte(`""`), 1)
	pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = string(undated)
}
