package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// source is words that can be read in any order, in pieces.
type source interface {
	// load returns up to want words from position at. They may lie in buf, which
	// has room for them.
	load(buf *buffer, at int64, want int) ([]uint64, error)
	len() int64
}

// buffer is where a worker reads words from a file into.
type buffer struct {
	bytes []byte
	words []uint64
}

// store keeps words as they came: in memory while they fit, then all in a file.
type store struct {
	dir    string
	limit  int // words that fit into memory
	n      int64
	chunk  int // words of each chunk but the last
	chunks [][]uint64
	spare  []uint64 // a chunk that has been written to the file
	file   *tempFile
}

func newStore(dir string, limit int) *store { return &store{dir: dir, limit: limit} }

func (s *store) newChunk(n int) []uint64 {
	if c := s.spare; cap(c) >= n {
		s.spare = nil
		return c[:0]
	}
	return make([]uint64, 0, n)
}

// put appends words and keeps the slice. All calls but the last bring the same
// number.
func (s *store) put(words []uint64) error {
	if s.n == 0 {
		s.chunk = len(words)
	}
	if s.file == nil && s.n+int64(len(words)) <= int64(s.limit) {
		s.chunks = append(s.chunks, words)
		s.n += int64(len(words))
		return nil
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if err := s.file.writeAt(words, s.n); err != nil {
		return err
	}
	s.spare = words[:0]
	s.n += int64(len(words))
	return nil
}

// spill moves what is in memory to a file.
func (s *store) spill() error {
	f, err := newTempFile(s.dir)
	if err != nil {
		return err
	}
	s.file = f
	at := int64(0)
	for i, c := range s.chunks {
		if err := f.writeAt(c, at); err != nil {
			return err
		}
		at += int64(len(c))
		s.chunks[i] = nil
	}
	s.chunks = nil
	return nil
}

func (s *store) len() int64 { return s.n }

// memory returns the number of words in memory.
func (s *store) memory() int {
	if s.file != nil {
		return 0
	}
	return int(s.n)
}

func (s *store) load(buf *buffer, at int64, want int) ([]uint64, error) {
	if s.file != nil {
		return s.file.load(buf, at, want)
	}
	c := s.chunks[at/int64(s.chunk)]
	i := int(at % int64(s.chunk))
	return c[i : i+want], nil
}

func (s *store) close() error {
	s.chunks, s.spare = nil, nil
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.close()
}

// tempFile holds words for as long as the program lives.
type tempFile struct {
	f       *os.File
	removed bool
	bytes   []byte
}

func newTempFile(dir string) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "snowfence-audit-*")
	if err != nil {
		return nil, fmt.Errorf("audit: temporary file: %w", err)
	}
	// The file loses its name at once where it can, so that a killed program
	// leaves nothing behind.
	return &tempFile{f: f, removed: os.Remove(f.Name()) == nil}, nil
}

// writeAt writes words from position at, one goroutine at a time; others use
// writeBytes.
func (t *tempFile) writeAt(words []uint64, at int64) error {
	t.bytes = appendWords(t.bytes[:0], words)
	return t.writeBytes(t.bytes, at)
}

func (t *tempFile) writeBytes(b []byte, at int64) error {
	if _, err := t.f.WriteAt(b, 8*at); err != nil {
		return fmt.Errorf("audit: temporary file: %w", err)
	}
	return nil
}

func appendWords(b []byte, words []uint64) []byte {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func (t *tempFile) load(buf *buffer, at int64, want int) ([]uint64, error) {
	if cap(buf.bytes) < 8*want {
		buf.bytes, buf.words = make([]byte, 8*want), make([]uint64, want)
	}
	b, words := buf.bytes[:8*want], buf.words[:want]
	if _, err := t.f.ReadAt(b, 8*at); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return words, nil
}

func (t *tempFile) close() error {
	err := t.f.Close()
	if !t.removed {
		if removeErr := os.Remove(t.f.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return fmt.Errorf("audit: temporary file: %w", err)
	}
	return nil
}

// region is a part of a file as a source.
type region struct {
	file  *tempFile
	start int64
	n     int64
}

func (r region) len() int64 { return r.n }

func (r region) load(buf *buffer, at int64, want int) ([]uint64, error) {
	return r.file.load(buf, r.start+at, want)
}
