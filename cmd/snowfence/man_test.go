package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

//go:generate go test . -run ^TestManPagesAreCurrent$ -count=1 -renew

var renew = flag.Bool("renew", false, "write the man pages")

// The man pages in docs/man are those of the commands. They are made here, because what makes them
// would take 0.25 MB of the program.
func TestManPagesAreCurrent(t *testing.T) {
	const committed = "../../docs/man"
	root := newProgram(nil, nil, nil, nil).root()
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	pages := map[string][]byte{}
	manPages(t, root, pages)
	if len(pages) < 20 {
		t.Fatalf("only %d pages", len(pages))
	}
	for name, want := range pages {
		file := filepath.Join(committed, name)
		if *renew {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not that of the command: run make gen (%v)", name, err)
		}
	}
	files, err := os.ReadDir(committed)
	if err != nil || len(files) != len(pages) {
		t.Errorf("%s has %d pages, the program %d: %v", committed, len(files), len(pages), err)
	}
}

// manPages makes the pages of a command and those below it, without a date, so that pages change
// only when the commands do.
func manPages(t *testing.T, cmd *cobra.Command, pages map[string][]byte) {
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
	pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = undated
}
