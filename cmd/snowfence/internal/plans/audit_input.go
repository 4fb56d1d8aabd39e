package plans

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/klauspost/compress/zstd"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
)

// auditInput reads files into an audit.
type auditInput struct {
	e      *command.Env
	format audit.Format
	add    func(b *audit.Batch) error
	places places
	bad    int64
	shown  int64 // bad lines that were reported
	hint   string
}

// maxShownBad is how many bad lines are reported one by one.
const maxShownBad = 20

// readAll reads all files one after the other.
func (in *auditInput) readAll(ctx context.Context, files []string) error {
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		if err := in.readOne(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (in *auditInput) readOne(ctx context.Context, name string) error {
	var stream io.Reader
	if name == "-" {
		name, stream = "standard input", command.Interruptible(ctx, in.e.Stdin)
	} else {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("is a folder")}
		}
		stream = f
	}
	plain, closeStream, err := decompress(stream)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer closeStream()
	in.places.open(name)
	err = audit.Read(plain, in.format, func(b *audit.Batch) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		in.places.add(b)
		in.count(name, b)
		return in.add(b)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// count reports the bad lines of a batch, up to a limit.
func (in *auditInput) count(name string, b *audit.Batch) {
	in.bad += b.BadN
	for _, bad := range b.Bad {
		if in.hint == "" {
			in.hint = in.hintOf(bad.Err.Error())
		}
		if in.shown < maxShownBad {
			in.shown++
			in.e.Message("%s: line %d: %v", name, bad.Line, bad.Err)
		}
	}
}

// hintOf returns the forgotten flag, by the look of a line that an error
// quotes.
func (in *auditInput) hintOf(text string) string {
	_, line, quoted := strings.Cut(text, `"`)
	switch {
	case in.format.Column != "" || in.format.Field != "" || !quoted:
		return ""
	case strings.HasPrefix(line, "{"):
		return "these lines look like JSON: name their field with --field NAME"
	case regexp.MustCompile(`^-?\d{1,3}(,\d{3})+"`).MatchString(line):
		return "these numbers have their digits in groups: export them without separators"
	case strings.ContainsAny(line, ",;") || strings.Contains(line, `\t`):
		return "these lines look like comma-, semicolon- or tab-separated values: name their column with " +
			"--column NAME, or --column 1"
	}
	return ""
}

// reportBad says how many bad lines were not reported.
func (in *auditInput) reportBad() {
	if in.hint != "" {
		in.e.Message("%s", in.hint)
	}
	if more := in.bad - in.shown; more > 0 {
		in.e.Message("and %s more", show.Plural(more, "bad line"))
	}
}

// decompress looks at the first bytes of a stream and returns it
// uncompressed.
func decompress(r io.Reader) (io.Reader, func(), error) {
	in := bufio.NewReaderSize(r, 64<<10)
	start, err := in.Peek(10)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	begins := func(mark string) bool { return bytes.HasPrefix(start, []byte(mark)) }
	switch {
	// Method and flags of gzip.
	case begins("\x1f\x8b\x08") && len(start) > 3 && start[3] < 0x20:
		z, err := gzip.NewReader(in)
		return z, func() {}, err
	case begins("\x28\xb5\x2f\xfd"):
		z, err := zstd.NewReader(in)
		return z, z.Close, err
	case begins("PK\x03\x04"), begins("\xfd7zXZ"), bytes.HasSuffix(start, []byte("1AY&SY")):
		return nil, nil, errors.New("is a zip, xz or bzip2 file, or a spreadsheet: unpack it, or export it as CSV")
	case begins("\xff\xfe"), begins("\xfe\xff"):
		return nil, nil, errors.New("is UTF-16: save it as UTF-8")
	}
	return in, func() {}, nil
}
