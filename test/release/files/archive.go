package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file in an archive or a package.
type entry struct {
	name    string
	body    []byte
	program bool
}

func (e entry) mode() int64 {
	if e.program {
		return 0o755
	}
	return 0o644
}

// sorted returns the entries in the order of their names, which no file
// system changes.
func sorted(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

// tarball packs the entries into a folder of that name. Nothing in it
// depends on this machine.
func tarball(folder string, entries []entry, when time.Time) ([]byte, error) {
	var packed bytes.Buffer
	small, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(small)
	for _, e := range sorted(entries) {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: folder + "/" + e.name, Size: int64(len(e.body)), Mode: e.mode(), ModTime: when,
			Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = small.Close()
	return packed.Bytes(), err
}

// zipped is tarball for Windows.
func zipped(folder string, entries []entry, when time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, e := range sorted(entries) {
		h := &zip.FileHeader{Name: folder + "/" + e.name, Method: zip.Deflate, Modified: when.UTC()}
		h.SetMode(os.FileMode(e.mode()))
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}

// gzipped compresses a man page as packages have it, without name and time.
func gzipped(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// writeFile writes a file of the release and returns its checksum.
func (b *build) writeFile(name string, body []byte) (string, error) {
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return "", err
	}
	f, err := os.OpenFile(filepath.Join(b.out, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, bytes.NewReader(body))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), err
}
