package clib

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
)

// defaultMaxWait is how long a call waits for an ID or a number.
const defaultMaxWait = 5 * time.Second

// options are the values in the text of the options.
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

// option is the place of a key's value, and its type.
type option struct {
	name  string
	doors door
	what  string
	to    func(o *options) any
}

const (
	anyDoor = onStore | onStateFile | onStatic
	aTime   = "a time such as 5s or 200ms"
)

// optionTable has the options by name.
var optionTable = [...]option{
	{"block", onStore, "a power of two", func(o *options) any { return &o.lease.Nodes }},
	{"coarse", anyDoor, "1 or 0", func(o *options) any { return &o.coarse }},
	{"guard", onStore, "1 or 0", func(o *options) any { return &o.lease.Guard }},
	{"label", onStore, "a text", func(o *options) any { return &o.lease.Label }},
	{"layout", onStore, "a layout", func(o *options) any { return &o.layout }},
	{"lead", anyDoor, "a number of ticks", func(o *options) any { return &o.lead }},
	{"max-wait", anyDoor, aTime, func(o *options) any { return &o.maxWait }},
	{"node", onStore, "a number", func(o *options) any { o.lease.Node = new(int64); return o.lease.Node }},
	{"secret-file", anyDoor, "a file", func(o *options) any { return &o.secrets }},
	{"slice", onStateFile, "a range such as 32-63, or one number", func(o *options) any { return &o.slice }},
	{"spread", anyDoor, "a number of sequence numbers", func(o *options) any { return &o.spread }},
	{"ttl", onStore, aTime, func(o *options) any { return &o.lease.TTL }},
	{"wait", onStore, aTime, func(o *options) any { return &o.lease.wait }},
	{"within", onStore, "a range of nodes", func(o *options) any { return &o.lease.within }},
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
		if set(optionTable[i].to(o), value) != nil {
			return nil, InvalidError("option %s=%s: it is %s", name, value, optionTable[i].what)
		}
	}
	o.maxWait = cmp.Or(o.maxWait, -1) // not at all
	if o.lead < 0 {
		return nil, InvalidError("option lead=%d: give 0 or more ticks", o.lead)
	}
	if s := o.slice; s != nil && o.spread > s[1]-s[0]+1 {
		return nil, InvalidError("option spread=%d: the slice has %d sequence numbers: take at most those", o.spread,
			s[1]-s[0]+1)
	}
	return o, nil
}

// pairs splits a text at its commas, except inside the spec of a layout: up
// to the next option, the text after layout= belongs to it. So does node=,
// once, because specs have it too.
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

// set reads a value.
func set(to any, value string) (err error) {
	switch to := to.(type) {
	case *string:
		*to = value
	case *[]string:
		*to = append(*to, value)
	case *bool:
		*to, err = strconv.ParseBool(value)
	case *int:
		*to, err = strconv.Atoi(value)
	case *int64:
		*to, err = strconv.ParseInt(value, 10, 64)
	case *time.Duration:
		if *to, err = time.ParseDuration(value); *to < 0 {
			err = strconv.ErrRange
		}
	case **[2]int64:
		first, last, two := strings.Cut(value, "-")
		if !two {
			last = first
		}
		*to = &[2]int64{}
		err = errors.Join(set(&(*to)[0], first), set(&(*to)[1], last))
		if r := *to; r[0] < 0 || r[1] < r[0] {
			err = strconv.ErrRange
		}
	}
	return err
}

// schemeOf returns the scheme of a layout's text; "" means the default one.
// The layout must have the node.
func (o *options) schemeOf(text string, node int64) (*snowfence.Scheme, error) {
	l, err := snowfence.Default(), error(nil)
	if text != "" {
		l, err = snowfence.ParseLayout(text)
	}
	if err != nil {
		return nil, err
	}
	s, err := o.schemeFor(l)
	if err == nil && (node < 0 || node >= s.Nodes()) {
		err = InvalidError("node %d: the layout has nodes 0 to %d", node, s.Nodes()-1)
	}
	return s, err
}

// schemeFor returns the scheme of a layout with the secrets of the options.
func (o *options) schemeFor(l snowfence.Layout) (*snowfence.Scheme, error) {
	var secrets []*snowfence.Secret
	for _, name := range o.secrets {
		secret, err := open.Secret(name)
		if err != nil {
			return nil, InvalidError("option secret-file=%s: %w", name, err)
		}
		secrets = append(secrets, secret)
	}
	s, err := snowfence.NewScheme(l, secrets...)
	if err != nil && len(secrets) == 0 && l.Cipher != snowfence.Plain {
		return nil, fmt.Errorf("%w: add secret-file=FILE to the options", err)
	}
	return s, err
}
