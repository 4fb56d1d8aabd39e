package servers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// readSettings gives settings that are neither on the command line nor in
// the environment their values from the configuration file.
func readSettings(fs *pflag.FlagSet, c *serve.Config) error {
	if c.File == "" {
		return nil
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return command.Usagef("--config: %w", serve.Explain(err))
	}
	if err := setSettings(fs, c, data); err != nil {
		return command.Usagef("%s: %w", c.File, err)
	}
	return nil
}

func setSettings(fs *pflag.FlagSet, c *serve.Config, data []byte) error {
	var file map[string]yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("write settings as lines such as \"http: 127.0.0.1:8080\": %s", withoutValue(err))
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return errors.New("it has more than one document")
	}
	fields := map[string]any{}
	for tag, field := range c.Settings() {
		fields[cmp.Or(tag.Get("file"), tag.Get("name"))] = field
	}
	delete(fields, "-")
	// log-json comes first, because an error of another setting is JSON
	// then.
	for _, key := range append([]string{"log-json"}, slices.Sorted(maps.Keys(file))...) {
		node, there := file[key]
		if !there {
			continue
		}
		flag := fs.Lookup(key)
		field := fields[key]
		if key == "tokens" && node.Kind == yaml.ScalarNode {
			field = &c.Tokens // a path
		}
		var err error
		switch {
		case field == nil:
			err = errors.New("there is no such setting: see snowfence serve --help")
		case flag != nil && flag.Changed: // by the command line or the environment
		case node.Tag == "!!null":
			err = errors.New("it has no value: leave the line out")
		default:
			err = setSetting(field, &node)
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", node.Line, key, err)
		}
	}
	return nil
}

var (
	lineOfText   = regexp.MustCompile(`line \d+: `)          // where a setting stands in a text of its own
	valueInError = regexp.MustCompile("(?s) `.{0,10}` into") // it may be of a secret
)

// withoutValue is an error of yaml that shows no value.
func withoutValue(err error) string { return valueInError.ReplaceAllString(err.Error(), " into") }

// setSetting gives a setting its value. One value may stand for a list.
func setSetting(field any, node *yaml.Node) (err error) {
	var lists map[string]oneOrMore
	switch p := field.(type) {
	case *[]string:
		err = node.Decode((*oneOrMore)(p))
	case *map[string]string: // of files
		if err = decodeNamed(node, &lists); err == nil {
			*p = map[string]string{}
		}
		for name, list := range lists {
			(*p)[name] = strings.Join(list, ":")
		}
	case *map[string][]string:
		if err = decodeNamed(node, &lists); err == nil {
			*p = map[string][]string{}
		}
		for name, list := range lists {
			(*p)[name] = list
		}
	case *[]server.Token:
		var text []byte
		if text, err = yaml.Marshal(node); err != nil {
			return err
		}
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err = d.Decode(p); err != nil {
			err = serve.ExplainTokens(err)
		}
	default:
		if err = node.Decode(field); err != nil {
			err = fmt.Errorf("%q does not fit: see snowfence serve --help", node.Value)
		}
	}
	if err != nil {
		err = errors.New(lineOfText.ReplaceAllString(withoutValue(err), ""))
	}
	return err
}

// decodeNamed decodes a value for each namespace.
func decodeNamed(node *yaml.Node, lists *map[string]oneOrMore) error {
	if node.Kind == yaml.ScalarNode {
		return errors.New("one value does not fit: give NAMESPACE: VALUE, a line for each (snowfence serve --help)")
	}
	return node.Decode(lists)
}

// oneOrMore is a list, or its only value.
type oneOrMore []string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (l *oneOrMore) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return node.Decode((*[]string)(l))
	}
	*l = slices.DeleteFunc(strings.Split(node.Value, ","), func(s string) bool { return s == "" })
	return nil
}
