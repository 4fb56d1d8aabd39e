// Package licences collects the licences of the modules that are linked
// into the programs of this repository, from the module cache.
package licences

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Module is a module of others, or another work, and what its authors ask
// us to pass on.
type Module struct {
	Path, Version string
	Texts         []Text
}

// Text is a file with a licence or a notice.
type Text struct {
	File string // from the root of the module
	Body string
	IDs  []string // of its licences, as SPDX names them; none for a notice
}

// ID returns the licences of the module as SPDX names them, such as
// "BSD-3-Clause AND MIT".
func (m Module) ID() string {
	var ids []string
	for _, t := range m.Texts {
		ids = append(ids, t.IDs...)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND ")
}

// fileName matches what authors call the files, such as LICENSE,
// COPYING.txt and LICENSE-APACHE.
var fileName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice)([-._].*)?$`)

// other matches files that only have such a name: code, and the licence of
// a picture.
var other = regexp.MustCompile(`(?i)(\.(go|s|h|c|py|sh|js)|-logo)$`)

// notice matches files that tell of others and give no licence of their
// own.
var notice = regexp.MustCompile(`(?i)^notice|3rd-party|third-party`)

// Find reads the licences and notices of a module in dir: at its root, and
// beside the packages, which are named by their folders from there, and
// above them.
func Find(dir string, packages []string) ([]Text, error) {
	folders := map[string]bool{".": true}
	for _, p := range packages {
		for f := path.Clean(p); f != "."; f = path.Dir(f) {
			folders[f] = true
		}
	}
	var texts []Text
	licensed := false
	for folder := range folders {
		entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(folder)))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() || !fileName.MatchString(e.Name()) || other.MatchString(e.Name()) {
				continue
			}
			t := Text{File: path.Join(folder, e.Name())}
			body, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(t.File)))
			if err != nil {
				return nil, err
			}
			t.Body = plain(body)
			if !notice.MatchString(e.Name()) {
				if t.IDs = identify(t.Body); len(t.IDs) == 0 {
					return nil, unknown(filepath.Join(dir, t.File))
				}
				licensed = true
			}
			texts = append(texts, t)
		}
	}
	if !licensed {
		return nil, errors.New(dir + " has no file with a licence")
	}
	slices.SortFunc(texts, func(a, b Text) int { return strings.Compare(a.File, b.File) })
	return texts, nil
}

func unknown(file string) error {
	return fmt.Errorf("%s has a licence that this program does not know: add it to identify", file)
}

// plain drops the differences between files of the same content: line ends
// and empty lines around.
func plain(body []byte) string {
	lines := strings.Split(string(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// identify names the licences in a file by sentences that no other has.
func identify(text string) []string {
	quoted := strings.ReplaceAll(text, "\n>", "\n") // some quote the text as in a mail
	words := strings.ToLower(strings.Join(strings.Fields(quoted), " "))
	var ids []string
	for _, known := range []struct{ id, sentence string }{
		{"Apache-2.0", "apache license version 2.0, january 2004"},
		{"Apache-2.0", "licensed under the apache license, version 2.0"},
		{"MPL-2.0", "mozilla public license version 2.0"},
		{"MPL-2.0", "mozilla public license, version 2.0 1. definitions"},
		{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
		{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
		{"LicenseRef-public-domain", "in sqlite has been dedicated to the public domain by the authors"},
		{"Unlicense", "this is free and unencumbered software released into the public domain"},
	} {
		if strings.Contains(words, known.sentence) && !slices.Contains(ids, known.id) {
			ids = append(ids, known.id)
		}
	}
	if strings.Contains(words, "redistributions in binary form must reproduce the above copyright notice") {
		id := "BSD-2-Clause"
		if strings.Contains(words, "may be used to endorse or promote products derived from") {
			id = "BSD-3-Clause"
		}
		ids = append(ids, id)
	}
	return ids
}
