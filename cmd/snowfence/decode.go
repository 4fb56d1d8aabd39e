package main

import (
	"bufio"
	"errors"
	"io"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/spf13/cobra"
)

func (p *program) decodeCommand() *cobra.Command {
	var d decoder
	var layout, from string
	var secret secretFlag
	var check checkFlags
	cmd := &cobra.Command{
		Use:   "decode [ID]...",
		Short: "Take IDs apart",
		Long: `Decode shows what an ID is made of: its time, node and sequence number. It needs no lease
and no store. Without arguments it reads IDs from standard input, one a line.

Negative IDs are arguments, not flags. A line that is no ID is reported with its number;
the rest goes on, and the exit code is 2.

The forms of text, here and for --format of the other commands:
` + encodingTable() + `
Each of them with -fixed behind its name has all IDs of one length, and texts in the order
of the IDs. IDs of encrypted layouts are read as base32hex too, unless --from is given.`,
		Example: `  snowfence decode 249887800817025024
  snowfence decode --layout discord --json -5
  snowfence decode --guess 605846670390853632
  snowfence decode --from base32hex --json < ids.txt`,
		Annotations: map[string]string{takesIDs: "yes"},
	}
	cmd.Flags().StringVar(&layout, "layout", "snowfence", "`name` or spec of the layout (snowfence plan --help lists them)")
	cmd.Flags().StringVar(&from, "from", "dec", "text `form` of the IDs: "+encodingNames())
	secret.register(cmd.Flags())
	check.register(cmd.Flags())
	cmd.Flags().BoolVar(&d.json, "json", false, "one JSON object a line")
	cmd.Flags().BoolVar(&d.guess, "guess", false, "list the layouts under which the time is plausible")
	completeLayouts(cmd, "layout")
	cmd.RunE = p.runs(func(cmd *cobra.Command, ids []string, out *bufio.Writer) error {
		if d.guess && p.given(cmd, "layout") {
			return usagef("--guess looks for the layout: leave --layout out, or --guess")
		}
		var err error
		if d.encoding, err = snowfence.ParseEncoding(from); err != nil {
			return usagef("--from: %w", err)
		}
		view, err := newViewWith(layout, func(l snowfence.Layout) (*snowfence.Scheme, error) { return p.scheme(l, &secret) })
		if errors.Is(err, snowfence.ErrInvalidLayout) {
			return usagef("--layout: %w", err)
		}
		if err != nil {
			return err
		}
		d.either = view.layout.Cipher != snowfence.Plain && !p.given(cmd, "from")
		d.view, d.now, d.out = view, p.now(), out
		if d.guess {
			if d.known, err = knownViews(); err != nil {
				return err
			}
		}
		if d.plausible, err = p.plausible(cmd, &check, view.scheme); err != nil {
			return err
		}
		if len(ids) > 0 {
			return p.decodeArgs(&d, ids)
		}
		return p.decodeStdin(&d)
	})
	return cmd
}

// encodingNames says to the flags of all commands where the forms of text are listed.
func encodingNames() string { return "dec, hex, base32hex … (all: snowfence decode --help)" }

// encodingTable lists the forms of text, several in a line.
func encodingTable() string {
	text, width := "", 0
	for i, e := range snowfence.Encodings() {
		name := e.Name()
		switch {
		case i == 0:
			text, width = "  ", 2
		case width+len(name) > 85:
			text, width = text+",\n  ", 2
		default:
			text, width = text+", ", width+2
		}
		text, width = text+name, width+len(name)
	}
	return text + "\n"
}

func (p *program) decodeArgs(d *decoder, ids []string) error {
	var bad bool
	for i, text := range ids {
		if err := d.one([]byte(text)); err != nil {
			bad = true
			p.message("argument %d: %v", i+1, err)
		}
	}
	if bad {
		return errBadInput
	}
	return nil
}

func (p *program) decodeStdin(d *decoder) error {
	in := newLines(p.stdin)
	var bad bool
	for {
		line, err := in.next()
		switch {
		case err == io.EOF && bad:
			return errBadInput
		case err == io.EOF:
			return nil
		case errors.Is(err, errLineTooLong):
		case err != nil:
			return err
		case len(line) == 0:
			continue
		default:
			err = d.one(line)
		}
		if err != nil {
			bad = true
			p.message("line %d: %v", in.number, err)
		}
		if in.idle() { // somebody may be waiting for the answer
			if err := d.out.Flush(); err != nil {
				return err
			}
		}
	}
}

// decoder writes IDs taken apart.
type decoder struct {
	encoding    snowfence.Encoding
	view        *view
	known       []*view // for guess
	json, guess bool
	plausible   *snowfence.Plausible // with --check
	either      bool                 // what is no decimal may be base32hex, as new prints encrypted IDs
	now         time.Time
	out         *bufio.Writer
	buf         []byte
	written     int
}

// one decodes one text. What it returns is for the reader of the messages; a failure to write shows when out is flushed.
func (d *decoder) one(text []byte) error {
	id, err := d.encoding.ParseBytes(text)
	if err != nil && d.either {
		if other, otherErr := snowfence.Base32Hex.ParseBytes(text); otherErr == nil {
			id, err = other, nil
		}
	}
	if err != nil {
		return err
	}
	d.buf = d.buf[:0]
	if d.guess {
		err = d.appendGuesses(id)
	} else {
		err = d.appendParts(id)
	}
	if err == nil {
		_, _ = d.out.Write(d.buf)
		d.written++
	}
	return err
}

func (d *decoder) appendParts(id snowfence.ID) error {
	parts, err := d.parts(id)
	if err != nil {
		return err
	}
	if d.json {
		d.buf = append(d.view.appendJSON(d.buf, id, parts), '\n')
		return nil
	}
	if d.written > 0 {
		d.buf = append(d.buf, '\n')
	}
	d.buf = d.view.appendPicture(d.buf, id, parts, d.now)
	return nil
}
