package ids

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/spf13/cobra"
)

// decoder writes the parts of IDs.
type decoder struct {
	show.Decoder

	out   *bufio.Writer
	buf   []byte
	count int
}

func decodeCommand(e *command.Env) *cobra.Command {
	var d decoder
	var f DecodeFlags
	cmd := &cobra.Command{
		Use: "decode [ID]...", Short: "Take IDs apart",
		Long: `Decode shows what an ID is made of: its time, node and sequence number. It needs no lease.
Without arguments, or for the argument -, it reads IDs from standard input, one a line.

--layout names the layout. With --namespace or --store it is the one that the namespace had
when the ID was made. Otherwise decode guesses it by all IDs that it has so far, says so, and
says which others fit.

IDs may have a prefix (ord_3vgoe12ccb8gh). If a text is no decimal number, decode guesses its
form, and says which it took; --from names the form. Digits behind 0x are hexadecimal.

Negative IDs are arguments, not flags. A line that is no ID is reported with its number;
the rest goes on, and the exit code is 2.

The forms of text, here and for --format of the other commands:
` + encodingTable() + `
Each of them with -fixed behind its name has all IDs of one length, and texts in the order
of the IDs. IDs of encrypted layouts are read as base32hex too, unless --from is given.`,
		Example: `  snowfence decode 249887800817025024
  snowfence decode --namespace orders ord_6tv5q6h8o000
  snowfence decode --layout discord --json -5
  snowfence decode --from base32hex --json < ids.txt`,
		Annotations: map[string]string{command.TakesIDs: "yes"},
	}
	cmd.Flags().StringVar(&f.Layout, "layout", "", "`name` or spec of the layout (snowfence plan --help lists "+
		"them; default: as above)")
	cmd.Flags().StringVar(&f.From, "from", "", "text `form` of the IDs: "+FormNames()+" (default: as above)")
	f.Secret.Register(cmd.Flags())
	f.Store.Register(cmd.Flags())
	cmd.Flags().BoolVar(&d.JSON, "json", false, "one JSON object a line")
	command.CompleteLayouts(cmd, "layout")
	cmd.RunE = e.Run(func(cmd *cobra.Command, ids []string, out *bufio.Writer) error {
		d.Now, d.out = e.Now(), out
		if err := PrepareDecoder(e, cmd, &d.Decoder, &f); err != nil {
			return err
		}
		if len(ids) > 0 {
			return decodeArgs(e, &d, ids)
		}
		e.Stdin = command.Interruptible(cmd.Context(), e.Stdin)
		return decodeStdin(e, &d)
	})
	return cmd
}

// FormNames says to the flags of all commands where the forms of text are
// listed.
func FormNames() string { return "dec, hex, base32hex … (all: snowfence decode --help)" }

// encodingTable lists the forms of text, several in a line.
func encodingTable() (text string) {
	var names []string
	for _, f := range snowfence.Encodings() {
		names = append(names, f.Name())
	}
	for line := range slices.Chunk(names, 8) {
		text += "  " + strings.Join(line, ", ") + "\n"
	}
	return text
}

func decodeArgs(e *command.Env, d *decoder, ids []string) error {
	var bad bool
	for _, text := range ids {
		d.Learn([]byte(text))
	}
	for i, text := range ids {
		err := error(nil)
		if text == "-" {
			err = decodeStdin(e, d)
		} else {
			err = d.decodeOne([]byte(text))
		}
		switch {
		case errors.Is(err, command.ErrBadInput):
			bad = true // it has been said which lines
		case err != nil && text == "-":
			return err
		case err != nil:
			bad = true
			e.Message("argument %d: %v", i+1, err)
		}
	}
	if bad {
		return command.ErrBadInput
	}
	return nil
}

// maxLearned is how many waiting lines are read before the first one is
// answered.
const maxLearned = 1000

func decodeStdin(e *command.Env, d *decoder) error {
	in := newLines(e.Stdin)
	var bad bool
	var waiting []string
	for {
		line, err := in.next()
		at := in.number - len(waiting)
		if err == nil {
			waiting = append(waiting, string(line))
			d.Learn(line)
			if !in.idle() && len(waiting) < maxLearned {
				continue
			}
		}
		for i, text := range waiting {
			if text == "" {
				continue
			}
			if err := d.decodeOne([]byte(text)); err != nil {
				bad = true
				e.Message("line %d: %v", at+i, err)
			}
		}
		waiting = waiting[:0]
		switch {
		case err == io.EOF && bad:
			return command.ErrBadInput
		case err == io.EOF:
			return nil
		case errors.Is(err, errLineTooLong):
			bad = true
			e.Message("line %d: %v", in.number, err)
		case err != nil:
			return err
		}
		if in.idle() { // a caller may be waiting for the answer
			if err := d.out.Flush(); err != nil {
				return err
			}
		}
	}
}

// decodeOne decodes one text. Its error is for the reader of the messages;
// a failure to write shows when out is flushed.
func (d *decoder) decodeOne(s []byte) (err error) {
	d.buf = d.buf[:0]
	if d.count > 0 && !d.JSON {
		d.buf = append(d.buf, '\n')
	}
	if d.buf, err = d.Append(d.buf, s); err == nil {
		_, _ = d.out.Write(d.buf)
		d.count++
	}
	return err
}
