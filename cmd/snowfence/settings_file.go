package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// settingsFile is the configuration file of a server.
type settingsFile struct {
	config *serve.Config
	flags  *pflag.FlagSet // of the same settings
	known  []string       // keys that the file can have, sorted
}

// readSettings gives settings that are neither on the command line nor in the environment
// their values from the configuration file.
func readSettings(fs *pflag.FlagSet, c *serve.Config) error {
	if c.File == "" {
		return nil
	}
	data, err := os.Open(c.File)
	if err != nil {
		return usagef("--config: %w", serve.Explain(err))
	}
	defer data.Close()
	f := settingsFile{config: c, flags: fs}
	for tag := range c.Settings() {
		if key := cmp.Or(tag.Get("file"), tag.Get("name")); key != "-" {
			f.known = append(f.known, key)
		}
	}
	slices.Sort(f.known)
	if err := f.read(data); err != nil {
		return usagef("%s: %w", c.File, err)
	}
	return nil
}

func (f *settingsFile) read(data io.Reader) error {
	var doc yaml.Node
	d := yaml.NewDecoder(io.LimitReader(data, 1<<20))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil // an empty file sets nothing
	case err != nil:
		return err
	}
	if more := d.Decode(&yaml.Node{}); !errors.Is(more, io.EOF) {
		return errors.New("it has more than one document")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: write settings as lines such as \"http: 127.0.0.1:8080\"", root.Line)
	}
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if seen[key.Value] {
			return fmt.Errorf("line %d: %s is given twice", key.Line, key.Value)
		}
		seen[key.Value] = true
		if err := f.set(key.Value, value); err != nil {
			return fmt.Errorf("line %d: %s: %w", key.Line, key.Value, err)
		}
	}
	return nil
}

// set applies one line of the file. Its errors never show a value of secrets.
func (f *settingsFile) set(key string, value *yaml.Node) error {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if !slices.Contains(f.known, key) {
		return fmt.Errorf("there is no such setting%s", f.nearest(key))
	}
	flag := f.flags.Lookup(key)
	switch {
	case flag == nil:
		return f.setSecrets(value)
	case flag.Changed: // by the command line or the environment
		return nil
	case key == "tokens" && value.Kind == yaml.SequenceNode:
		return f.setTokens(value)
	}
	text, err := settingText(flag, value)
	if err != nil {
		return err
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok && value.Kind == yaml.ScalarNode && text == "" {
		return list.Replace(nil)
	}
	if text == "" && strings.HasPrefix(flag.Value.Type(), "stringTo") {
		return nil
	}
	if err := f.flags.Set(key, text); err != nil {
		return badValue(flag, text, err)
	}
	return nil
}

// badValue says in words of the file what pflag says in those of a command line.
func badValue(flag *pflag.Flag, text string, err error) error {
	switch flag.Value.Type() {
	case "duration":
		return fmt.Errorf("%q is no duration: write it as 1500ms, 10s or 5m", text)
	case "stringToInt64":
		return fmt.Errorf("%q: write lines \"NAMESPACE: NUMBER\" below", text)
	case "int", "int64":
		return fmt.Errorf("%q is no whole number", text)
	case "bool":
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return err
}

// settingText is a value as it would stand on the command line.
func settingText(flag *pflag.Flag, value *yaml.Node) (string, error) {
	kind := flag.Value.Type()
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return "", errors.New("it has no value: leave the line out")
	case value.Kind == yaml.ScalarNode && !strings.HasPrefix(kind, "stringTo"):
		return value.Value, nil
	case value.Kind == yaml.SequenceNode && kind == "stringSlice":
		var list []string
		err := value.Decode(&list)
		return strings.Join(list, ","), err
	case value.Kind == yaml.MappingNode && kind == "stringToString":
		files, err := listsByName(value)
		var pairs []string
		for name, list := range files {
			pairs = append(pairs, `"`+strings.ReplaceAll(name+"="+strings.Join(list, ":"), `"`, `""`)+`"`)
		}
		return strings.Join(pairs, ","), err
	case value.Kind == yaml.MappingNode && kind == "stringToInt64":
		var numbers map[string]string
		err := value.Decode(&numbers)
		var pairs []string
		for name, n := range numbers {
			pairs = append(pairs, name+"="+n)
		}
		return strings.Join(pairs, ","), err
	case kind == "stringToInt64":
		return "", errors.New("write it as lines \"NAMESPACE: NUMBER\" below")
	case kind == "stringToString":
		return "", errors.New("write it as lines \"NAMESPACE: FILE\" below")
	}
	return "", errors.New("write one value behind the colon")
}

// listsByName reads a mapping of names to one text or a list each.
func listsByName(value *yaml.Node) (map[string][]string, error) {
	lists := map[string][]string{}
	for i := 0; i < len(value.Content); i += 2 {
		name, one := value.Content[i].Value, value.Content[i+1]
		var list []string
		switch {
		case one.Kind == yaml.ScalarNode:
			list = []string{one.Value}
		case one.Kind != yaml.SequenceNode || one.Decode(&list) != nil:
			return nil, fmt.Errorf("line %d: write one, or a list", one.Line)
		}
		lists[name] = list
	}
	return lists, nil
}

func (f *settingsFile) setSecrets(value *yaml.Node) (err error) {
	if value.Kind != yaml.MappingNode {
		return errors.New("write lines \"NAMESPACE: SECRET\" below")
	}
	f.config.Secrets, err = listsByName(value)
	return err
}

// lineOfList is a line number within the list of tokens, which is none of the file.
var lineOfList = regexp.MustCompile(`line \d+: `)

// setTokens reads the tokens themselves.
func (f *settingsFile) setTokens(value *yaml.Node) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f.config.TokenList); err != nil {
		return errors.New(lineOfList.ReplaceAllString(serve.ExplainTokens(err).Error(), ""))
	}
	return nil
}

// nearest names the setting that was probably meant.
func (f *settingsFile) nearest(key string) string {
	wanted := strings.ReplaceAll(strings.ToLower(key), "_", "-")
	best, at := "", 2+len(key)/3
	for _, name := range f.known {
		if d := distance(wanted, name); d < at {
			best, at = name, d
		}
	}
	if best == "" {
		return ": see snowfence serve --help"
	}
	return ": did you mean " + best + "?"
}

// distance is how many letters have to be changed, added or taken away to make one word
// of another (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
