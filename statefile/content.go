package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
)

type fileState struct {
	name   string // random: the file and its lock have it; "" for one that was never written
	layout string
	node   int64
	keys   []string  // of a layout with a key field: Secret.ID by number, "" for one that is not known
	slices []numbers // in use at last; none for the whole sequence
	until  int64     // first tick that was never granted
	writes int64     // how often the file was written
}

// newState returns the state of a node that was never used.
func newState(s *snowfence.Scheme, node int64) fileState {
	st := fileState{layout: s.Fingerprint(), node: node}
	if s.Layout().Bits(snowfence.FieldKey) > 0 {
		st.keys = s.KeyIDs()
	}
	return st
}

// The file is lines of text and their CRC-32C, so that a person can read it
// and a torn or edited one is noticed.
const stateHeader = "snowfence state 2"

func (s fileState) encode() []byte {
	keys := "none"
	if len(s.keys) > 0 {
		keys = strings.Join(s.keys, ",")
	}
	body := fmt.Appendf(nil, "%s\nname %s\nlayout %s\nnode %d\nkeys %s\nslices %s\nuntil %d\nwrites %d\n",
		stateHeader, s.name, s.layout, s.node, keys, listNumbers(s.slices), s.until, s.writes)
	return fmt.Appendf(body, "sum %08x\n", crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// unknownState means that it is unknown how far a node's IDs went, or under
// which secrets.
type unknownState struct{ error }

func (e unknownState) Unwrap() error { return e.error }

// readFile reads the file, which must have the layout, node and secrets of
// f.state. Without a file that stays.
func (f *Fence) readFile() error {
	counted := countedWrites(f.lock)
	f.state.writes = counted
	data, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && counted == 0:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return f.unknownError("it is missing, although it was written %d times", counted)
	case err != nil:
		return fmt.Errorf("snowfence: reading state file: %w", err)
	}
	s, err := decodeState(data)
	if err != nil {
		return f.unknownError("%w", err)
	}
	if err := f.compareContent(s); err != nil {
		return err
	}
	f.state.writes = max(s.writes, counted)
	switch {
	case s.writes < counted:
		return f.unknownError("it is an older copy: it is write %d, and the last one was write %d", s.writes, counted)
	case s.name != nameIn(f.lock):
		return f.unknownError("it has lost its lock file %s.lock, which is another one now, so it may be an older copy",
			f.path)
	}
	f.state.name = s.name
	return nil
}

func decodeState(data []byte) (s fileState, err error) {
	if len(data) == 0 {
		return s, errors.New("it is empty")
	}
	lines := strings.Split(string(data), "\n")
	if lines[0] != stateHeader {
		return s, fmt.Errorf("it starts with %.40q, not with %q", lines[0], stateHeader)
	}
	if len(lines) != 10 {
		return s, errors.New("it is cut off or damaged")
	}
	s.name = strings.TrimPrefix(lines[1], "name ")
	s.layout = strings.TrimPrefix(lines[2], "layout ")
	if keys := strings.TrimPrefix(lines[4], "keys "); keys != "none" {
		s.keys = strings.Split(keys, ",")
	}
	s.slices = parseSlices(strings.TrimPrefix(lines[5], "slices "))
	_, err = fmt.Sscanf(strings.Join([]string{lines[3], lines[6], lines[7]}, "\n"),
		"node %d\nuntil %d\nwrites %d", &s.node, &s.until, &s.writes)
	// Every byte must be as we would write it, the sum included.
	if err != nil || s.until < 0 || s.writes < 0 || !bytes.Equal(s.encode(), data) {
		return s, errors.New("its sum does not match: it is damaged or was edited")
	}
	return s, nil
}

// compareContent takes over the content of a file, which must have the
// layout, node and secrets of f.state.
func (f *Fence) compareContent(s fileState) (err error) {
	want := f.state
	switch {
	case s.node != want.node:
		return f.unusableError(fmt.Errorf("it is of node %d, not %d: use a file for each node", s.node, want.node))
	case s.layout != want.layout:
		return f.unusableError(fmt.Errorf("it is of the layout %s, not %s: go on with its layout and secret; "+
			"or prove the change first (Change.Check, snowfence plan), and then use a new file", s.layout, want.layout))
	}
	f.state.until, f.state.slices = s.until, s.slices
	if f.state.keys, err = s.rotateSecrets(want.keys); err != nil {
		return f.unusableError(err)
	}
	return nil
}

func (f *Fence) unusableError(err error) error {
	return fmt.Errorf("snowfence: state file %s: %w: %w", f.path, ErrUnusable, err)
}

func (f *Fence) unknownError(format string, args ...any) error {
	return unknownState{f.unusableError(fmt.Errorf("%w: use another node with a new file; "+
		"or stop all processes that used this one, and begin it anew "+
		"with a time after all their IDs (when they stopped, plus their lead, and how far a clock was ahead): "+
		"statefile.Reset, or --state-after 3s of the program, or more where a lead was longer. "+
		"An older copy of the file, or none, would make IDs twice", fmt.Errorf(format, args...)))}
}

// rotateSecrets returns the secrets of the file and of a scheme. A key
// number means one secret for ever: under two, different raw IDs can become
// one. The last secret makes IDs, so it must be known.
func (s fileState) rotateSecrets(given []string) ([]string, error) {
	keys := slices.Clone(s.keys)
	for i, id := range given {
		switch {
		case i >= len(keys):
			keys = append(keys, id)
		case id == "" || id == keys[i]:
		case keys[i] == "" && i < len(given)-1: // it only decodes
		case keys[i] == "":
			return nil, fmt.Errorf("%w: the secret of key number %d was gone when the file was made, "+
				"so it is not known whether %s is the same: give a new secret last", snowfence.ErrKey, i, id)
		default:
			return nil, fmt.Errorf("%w: key number %d is secret %s there and %s here: "+
				"give the secrets in the order in which they came into use, and a new one last", snowfence.ErrKey, i,
				keys[i], id)
		}
	}
	return keys, nil
}
