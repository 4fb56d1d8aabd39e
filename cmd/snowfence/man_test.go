package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

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
