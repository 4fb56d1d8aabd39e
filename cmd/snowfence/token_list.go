package main

import (
	"bufio"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/spf13/cobra"
)

// tokenJSON is what people may see of a token.
type tokenJSON struct {
	Name        string        `json:"name"`
	Certificate string        `json:"certificate,omitempty"`
	Verbs       []server.Verb `json:"verbs"`
	Namespaces  []string      `json:"namespaces,omitempty"` // none means all
	Rate        float64       `json:"rate,omitempty"`
	Burst       int           `json:"burst,omitempty"`
	Nodes       int           `json:"nodes,omitempty"`
	Until       *time.Time    `json:"until,omitempty"` // none means never
	Ended       bool          `json:"ended"`
}

func (p *program) tokenListCommand() *cobra.Command {
	var file, config string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List tokens, what they may do, and when they end", Args: cobra.NoArgs,
		Long: `List shows the tokens of a file, or of a server's settings: names, rights, limits, and when each
ends. It never shows the secrets or their hashes.`,
		Example: `  snowfence token list --tokens /etc/snowfence/tokens.yaml
  snowfence token list --config /etc/snowfence/serve.yaml --json`,
	}
	cmd.Flags().StringVar(&file, "tokens", "", "`file` of tokens")
	cmd.Flags().StringVar(&config, "config", "", "`file` of settings of a server, whose tokens are listed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = p.runE(func(_ *cobra.Command, _ []string, out *bufio.Writer) error {
		list, err := p.tokensOf(file, config)
		if err != nil {
			return err
		}
		return writeTokens(out, list, asJSON, p.now())
	})
	return cmd
}

// tokensOf returns the tokens of a file, or of the settings of a server.
func (p *program) tokensOf(file, config string) (list []server.Token, err error) {
	if config != "" {
		c, err := p.serverSettings(config)
		if err != nil {
			return nil, err
		}
		file, list = cmp.Or(file, c.Tokens), c.TokenList
	}
	if file != "" {
		more, err := serve.ReadTokens(file)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if len(list) == 0 {
		return nil, usagef("there are no tokens to list: name their file with --tokens, or the settings of a server " +
			"with --config")
	}
	a, err := server.NewAuth(list)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return a.Tokens(), nil
}

func writeTokens(out *bufio.Writer, list []server.Token, asJSON bool, now time.Time) error {
	rows := [][]string{{"NAME", "VERBS", "NAMESPACES", "RATE", "NODES", "CERTIFICATE", "UNTIL"}}
	for _, t := range list {
		j := tokenJSON{
			Name: t.Name, Certificate: t.Certificate, Verbs: t.Verbs, Namespaces: t.Namespaces, Rate: t.Rate,
			Burst: t.Burst, Nodes: t.Nodes,
		}
		until := "never"
		if !t.Until.IsZero() {
			at := t.Until.UTC()
			j.Until, j.Ended = &at, !now.Before(at)
			if until = at.Format(time.RFC3339); j.Ended {
				until += " (ended)"
			}
		}
		if asJSON {
			if err := writeJSON(out, j); err != nil {
				return err
			}
			continue
		}
		verbs := make([]string, len(t.Verbs))
		for i, v := range t.Verbs {
			verbs[i] = string(v)
		}
		row := []string{
			t.Name, strings.Join(verbs, ","), cmp.Or(strings.Join(t.Namespaces, ","), "all"), "-", "-",
			cmp.Or(t.Certificate, "-"), until,
		}
		if t.Rate > 0 {
			row[3] = strconv.FormatFloat(t.Rate, 'g', -1, 64)
		}
		if t.Nodes > 0 {
			row[4] = strconv.Itoa(t.Nodes)
		}
		rows = append(rows, row)
	}
	if asJSON {
		return nil
	}
	_, err := out.Write(appendTable(nil, rows))
	return err
}
