package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Keys of the configuration file that no flag has, and flags that the file cannot have.
const secretsKey = "secrets"

var notInFile = []string{"config", "check-config", "check-health", "help"}

// readFile gives flags that are neither on the command line nor in the environment their
// values from the configuration file.
func (f *serveFlags) readFile(fs *pflag.FlagSet) error {
	if f.file == "" {
		return nil
	}
	data, err := os.Open(f.file)
	if err != nil {
		return usagef("--config: %w", serve.Explain(err))
	}
	defer data.Close()
	var doc yaml.Node
	d := yaml.NewDecoder(io.LimitReader(data, 1<<20))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil // an empty file sets nothing
	case err != nil:
		return usagef("%s: %w", f.file, err)
	}
	if more := d.Decode(&yaml.Node{}); !errors.Is(more, io.EOF) {
		return usagef("%s: it has more than one document", f.file)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return usagef("%s: line %d: write settings as lines such as \"http: 127.0.0.1:8080\"", f.file, root.Line)
	}
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if seen[key.Value] {
			return usagef("%s: line %d: %s is there twice", f.file, key.Line, key.Value)
		}
		seen[key.Value] = true
		if err := f.setting(fs, key.Value, value); err != nil {
			return usagef("%s: line %d: %s: %w", f.file, key.Line, key.Value, err)
		}
	}
	return nil
}

// setting applies one line of the file. Its errors never show a value of secrets.
func (f *serveFlags) setting(fs *pflag.FlagSet, key string, value *yaml.Node) error {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case key == secretsKey:
		return f.inlineSecrets(value)
	case key == "tokens" && value.Kind == yaml.SequenceNode:
		return f.inlineTokens(fs, value)
	}
	flag := fs.Lookup(key)
	if flag == nil || slices.Contains(notInFile, key) {
		return fmt.Errorf("there is no such setting%s", nearest(key, fs))
	}
	if flag.Changed { // by the command line or the environment
		return nil
	}
	text, err := settingText(flag, value)
	if err != nil {
		return err
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok && value.Kind == yaml.ScalarNode && text == "" {
		return list.Replace(nil)
	}
	if text == "" && flag.Value.Type() == "stringToString" {
		return nil
	}
	if err := fs.Set(key, text); err != nil {
		return badValue(flag, text, err)
	}
	return nil
}

// badValue says in words of the file what pflag says in those of a command line.
func badValue(flag *pflag.Flag, text string, err error) error {
	switch flag.Value.Type() {
	case "duration":
		return fmt.Errorf("%q is no duration: write it as 1500ms, 10s or 5m", text)
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
	case value.Kind == yaml.ScalarNode && kind != "stringToString":
		return value.Value, nil
	case value.Kind == yaml.SequenceNode && kind == "stringSlice":
		var list []string
		err := value.Decode(&list)
		return strings.Join(list, ","), err
	case value.Kind == yaml.MappingNode && kind == "stringToString":
		return settingPairs(value)
	case kind == "stringToString":
		return "", errors.New("write it as lines \"NAMESPACE: FILE\" below")
	}
	return "", errors.New("write one value behind the colon")
}

// settingPairs is the mapping of namespaces to files, each one file or a list.
func settingPairs(value *yaml.Node) (string, error) {
	var pairs []string
	for i := 0; i < len(value.Content); i += 2 {
		files, err := oneOrMany(value.Content[i+1])
		if err != nil {
			return "", err
		}
		pairs = append(pairs, `"`+strings.ReplaceAll(value.Content[i].Value+"="+strings.Join(files, ":"), `"`, `""`)+`"`)
	}
	return strings.Join(pairs, ","), nil
}

func oneOrMany(value *yaml.Node) ([]string, error) {
	if value.Kind == yaml.ScalarNode {
		return []string{value.Value}, nil
	}
	var list []string
	if value.Kind != yaml.SequenceNode || value.Decode(&list) != nil {
		return nil, fmt.Errorf("line %d: write one, or a list", value.Line)
	}
	return list, nil
}

func (f *serveFlags) inlineSecrets(value *yaml.Node) error {
	if value.Kind != yaml.MappingNode {
		return errors.New("write lines \"NAMESPACE: SECRET\" below")
	}
	f.inline = map[string][]string{}
	for i := 0; i < len(value.Content); i += 2 {
		list, err := oneOrMany(value.Content[i+1])
		if err != nil {
			return err
		}
		f.inline[value.Content[i].Value] = list
	}
	return nil
}

// lineOfList is a line number within the list of tokens, which is none of the file.
var lineOfList = regexp.MustCompile(`line \d+: `)

// inlineTokens reads the tokens themselves. A file of tokens that is set elsewhere takes
// their place, as any setting does.
func (f *serveFlags) inlineTokens(fs *pflag.FlagSet, value *yaml.Node) error {
	if fs.Changed("tokens") {
		return nil
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	var list []server.Token
	if err := d.Decode(&list); err != nil {
		return errors.New(lineOfList.ReplaceAllString(serve.ExplainTokens(err).Error(), ""))
	}
	f.config.TokenList = list
	return nil
}

// nearest names the setting that was probably meant.
func nearest(key string, fs *pflag.FlagSet) string {
	best, at := "", 1+len(key)/3
	consider := func(name string) {
		if d := distance(strings.ReplaceAll(strings.ToLower(key), "_", "-"), name); d < at || d == at && best == "" {
			best, at = name, d
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notInFile, f.Name) {
			consider(f.Name)
		}
	})
	consider(secretsKey)
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
