package clib

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// defaultMaxWait is how long a call waits for an ID or a number.
const defaultMaxWait = 5 * time.Second

// options are what the text of the options says.
type options struct {
	lead    int64
	spread  int64
	coarse  bool
	maxWait time.Duration
	secrets []string // names of files, oldest first
	layout  string
	slice   *[2]int64
	lease   leaseOptions
}

type leaseOptions struct {
	lease.Options
	wait   time.Duration // for a free node
	within string        // the nodes, as nodes.Within reads them
}

// door is an open call.
type door int

const (
	onStore door = 1 << iota
	onStateFile
	onStatic
)

// option reads one key.
type option struct {
	name  string
	doors door
	set   func(o *options, value string) error
}

const anyDoor = onStore | onStateFile | onStatic

// optionTable has the options by name.
var optionTable = [...]option{
	{"block", onStore, func(o *options, v string) (err error) {
		o.lease.Nodes, err = strconv.Atoi(v)
		return wrong(err, "a power of two")
	}},
	{"coarse", anyDoor, func(o *options, v string) (err error) {
		o.coarse, err = yes(v)
		return err
	}},
	{"guard", onStore, func(o *options, v string) (err error) {
		o.lease.Guard, err = yes(v)
		return err
	}},
	{"label", onStore, func(o *options, v string) error {
		o.lease.Label = v
		return nil
	}},
	{"layout", onStore, func(o *options, v string) error {
		o.layout = v
		return nil
	}},
	{"lead", anyDoor, func(o *options, v string) (err error) {
		o.lead, err = strconv.ParseInt(v, 10, 64)
		return wrong(err, "a number of ticks")
	}},
	{"max-wait", anyDoor, func(o *options, v string) (err error) {
		if o.maxWait, err = length(v); err == nil && o.maxWait == 0 {
			o.maxWait = -1 // not at all
		}
		return err
	}},
	{"node", onStore, func(o *options, v string) error {
		node, err := strconv.ParseInt(v, 10, 64)
		o.lease.Node = &node
		return wrong(err, "a number")
	}},
	{"secret-file", anyDoor, func(o *options, v string) error {
		o.secrets = append(o.secrets, v)
		return nil
	}},
	{"slice", onStateFile, func(o *options, v string) error {
		first, last, err := span(v)
		o.slice = &[2]int64{first, last}
		return err
	}},
	{"spread", anyDoor, func(o *options, v string) (err error) {
		o.spread, err = strconv.ParseInt(v, 10, 64)
		return wrong(err, "a number of sequence numbers")
	}},
	{"sticky-file", onStore, func(o *options, v string) error {
		o.lease.StickyFile = v
		return nil
	}},
	{"ttl", onStore, func(o *options, v string) (err error) {
		o.lease.TTL, err = length(v)
		return err
	}},
	{"wait", onStore, func(o *options, v string) (err error) {
		o.lease.wait, err = length(v)
		return err
	}},
	{"within", onStore, func(o *options, v string) error {
		o.lease.within = v
		return nil
	}},
}

// parseOptions reads key=value pairs with commas between them.
func parseOptions(text string, d door) (*options, error) {
	o := &options{maxWait: defaultMaxWait}
	seen := map[string]bool{}
	for _, pair := range pairs(text) {
		name, value, ok := strings.Cut(pair, "=")
		i := slices.IndexFunc(optionTable[:], func(t option) bool { return t.name == name && t.doors&d != 0 })
		switch {
		case i < 0:
			return nil, InvalidError("option %q is not known here: there are %s", name, known(d))
		case !ok || value == "":
			return nil, InvalidError("option %s has no value: write %s=VALUE", name, name)
		case seen[name] && name != "secret-file":
			return nil, InvalidError("option %s is given twice: leave one out", name)
		}
		seen[name] = true
		if err := optionTable[i].set(o, value); err != nil {
			return nil, InvalidError("option %s=%s: %w", name, value, err)
		}
	}
	if o.lead < 0 {
		return nil, InvalidError("option lead=%d: it is a number of ticks from 0 up", o.lead)
	}
	if s := o.slice; s != nil && o.spread > s[1]-s[0]+1 {
		return nil, InvalidError("option spread=%d: the slice has %d sequence numbers: take at most those", o.spread,
			s[1]-s[0]+1)
	}
	return o, nil
}

// pairs splits a text at its commas, except inside the spec of a layout: up to the next option,
// what follows layout= belongs to it. So does node=, once, because specs have it too.
func pairs(text string) (all []string) {
	for pair := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(pair, "=")
		known := slices.ContainsFunc(optionTable[:], func(t option) bool { return t.name == name })
		spec := ""
		if n := len(all); n > 0 {
			spec, _ = strings.CutPrefix(all[n-1], "layout=")
			if spec == all[n-1] || !strings.Contains(spec, "=") {
				spec = "" // another option, or the name of a layout
			}
		}
		switch {
		case pair == "":
		case spec != "" && (!known || name == "node" && !strings.Contains(","+spec, ",node=")):
			all[len(all)-1] += "," + pair
		default:
			all = append(all, pair)
		}
	}
	return all
}

func known(d door) string {
	var names []string
	for _, t := range optionTable {
		if t.doors&d != 0 {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

func wrong(err error, want string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("it is %s", want)
}

func yes(text string) (bool, error) {
	switch text {
	case "1":
		return true, nil
	case "0":
		return false, nil
	}
	return false, fmt.Errorf("it is 1 or 0")
}

func length(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("it is a time such as 5s or 200ms")
	}
	return d, nil
}

// span reads two numbers such as 32-63.
func span(text string) (first, last int64, err error) {
	a, b, two := strings.Cut(text, "-")
	if !two {
		b = a
	}
	first, err1 := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	if err1 != nil || err2 != nil || first < 0 || last < first {
		return 0, 0, fmt.Errorf("it is a range such as 32-63, or one number")
	}
	return first, last, nil
}

// schemeOf returns the scheme of the text of a layout; "" is the default one.
func (o *options) schemeOf(text string) (*snowfence.Scheme, error) {
	if text == "" {
		return o.scheme(snowfence.Default())
	}
	l, err := snowfence.ParseLayout(text)
	if err != nil {
		return nil, err
	}
	return o.scheme(l)
}

// scheme returns the scheme of a layout with the secrets of the options.
func (o *options) scheme(l snowfence.Layout) (*snowfence.Scheme, error) {
	var secrets []*snowfence.Secret
	for _, name := range o.secrets {
		secret, err := readSecret(name)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	s, err := snowfence.NewScheme(l, secrets...)
	if err != nil && len(secrets) == 0 && l.Cipher != snowfence.Plain {
		return nil, fmt.Errorf("%w: add secret-file=FILE to the options", err)
	}
	return s, err
}

// readSecret reads a file as the program does.
func readSecret(name string) (*snowfence.Secret, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, InvalidError("option secret-file: %w", err)
	}
	if info.Size() > 1024 {
		return nil, InvalidError("option secret-file=%s: it has %d bytes, too many for a secret", name,
			info.Size())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, InvalidError("option secret-file: %w", err)
	}
	secret, err := snowfence.ParseSecret(data)
	clear(data)
	if err != nil {
		return nil, InvalidError("option secret-file=%s: %w", name, err)
	}
	return secret, nil
}
