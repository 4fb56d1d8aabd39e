package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// store keeps words as they came: in memory while they fit, then all in a file.
type store struct {
	dir    string
	limit  int // words that fit into memory
	chunk  int // words that are written and read at once
	n      int64
	chunks [][]uint64 // what is not in the file; all but the last are full
	file   *tempFile  // nil while all is in memory
}

// add appends words.
func (s *store) add(words []uint64) error {
	for len(words) > 0 {
		last := len(s.chunks) - 1
		if last < 0 || len(s.chunks[last]) == s.chunk {
			var next []uint64 // the first one grows, because most audits are small
			if last >= 0 {
				next = make([]uint64, 0, s.chunk)
			}
			s.chunks = append(s.chunks, next)
			last++
		}
		n := min(len(words), s.chunk-len(s.chunks[last]))
		s.chunks[last] = append(s.chunks[last], words[:n]...)
		words = words[n:]
		s.n += int64(n)
		if full := len(s.chunks[last]) == s.chunk; full && (s.file != nil || s.n > int64(s.limit)) {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush moves what is in memory to the file.
func (s *store) flush() (err error) {
	if s.file == nil {
		if s.file, err = newTempFile(s.dir); err != nil {
			return err
		}
	}
	for _, c := range s.chunks {
		if err := s.file.append(c); err != nil {
			return err
		}
	}
	if len(s.chunks) > 0 {
		s.chunks = [][]uint64{s.chunks[0][:0]}
	}
	return nil
}

// end is called after the last word.
func (s *store) end() error {
	if s.file == nil {
		return nil
	}
	return s.flush()
}

// each hands on all words, with the position of the first of them.
func (s *store) each(visit func(at int64, words []uint64) error) error {
	at := int64(0)
	for _, c := range s.chunks {
		if err := visit(at, c); err != nil {
			return err
		}
		at += int64(len(c))
	}
	if s.file == nil {
		return nil
	}
	buf := make([]uint64, s.chunk)
	for at := int64(0); at < s.n; {
		words := buf[:min(int64(s.chunk), s.n-at)]
		if err := s.file.read(words, at); err != nil {
			return err
		}
		if err := visit(at, words); err != nil {
			return err
		}
		at += int64(len(words))
	}
	return nil
}

func (s *store) close() error {
	f := s.file
	s.chunks, s.file = nil, nil
	if f == nil {
		return nil
	}
	return f.close()
}

// tempFile holds words for as long as the program lives.
type tempFile struct {
	f       *os.File
	removed bool
	n       int64 // words in it
	bytes   []byte
}

func newTempFile(dir string) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "snowfence-audit-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	// Where an open file can have no name, nothing is left behind by a crash.
	return &tempFile{f: f, removed: os.Remove(f.Name()) == nil}, nil
}

func (t *tempFile) append(words []uint64) error {
	const most = 1 << 16
	for len(words) > 0 {
		n := min(len(words), most)
		t.bytes = t.bytes[:0]
		for _, w := range words[:n] {
			t.bytes = binary.LittleEndian.AppendUint64(t.bytes, w)
		}
		if _, err := t.f.WriteAt(t.bytes, 8*t.n); err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		t.n, words = t.n+int64(n), words[n:]
	}
	return nil
}

// read reads words from position at.
func (t *tempFile) read(words []uint64, at int64) error {
	if cap(t.bytes) < 8*len(words) {
		t.bytes = make([]byte, 8*len(words))
	}
	b := t.bytes[:8*len(words)]
	if _, err := t.f.ReadAt(b, 8*at); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}

func (t *tempFile) close() error {
	err := t.f.Close()
	if !t.removed {
		if removeErr := os.Remove(t.f.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	return nil
}
