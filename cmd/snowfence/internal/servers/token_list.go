package servers

import (
	"bufio"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/spf13/cobra"
)

func tokenListCommand(e *command.Env) *cobra.Command {
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
	cmd.RunE = e.Run(func(_ *cobra.Command, _ []string, out *bufio.Writer) error {
		list, err := tokensOf(e, file, config)
		if err != nil {
			return err
		}
		return writeTokens(e, out, list, asJSON)
	})
	return cmd
}

// tokensOf returns the tokens of a file, or of the settings of a server.
func tokensOf(e *command.Env, file, config string) (list []server.Token, err error) {
	if config != "" {
		c, err := settingsOf(e, []string{"--config", config}, nil)
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
		return nil, command.Usagef("there are no tokens to list: name their file with --tokens, or the settings " +
			"of a server with --config")
	}
	a, err := server.NewAuth(list)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return a.Tokens(), nil
}

// listedToken is what people may see of a token.
type listedToken struct {
	server.Token
	Ended bool `json:"ended"`
}

func writeTokens(e *command.Env, out *bufio.Writer, tokens []server.Token, asJSON bool) error {
	list := make([]listedToken, len(tokens))
	for i, t := range tokens {
		list[i] = listedToken{t, !t.Until.IsZero() && !e.Now().Before(t.Until.Time)}
	}
	header := []string{"NAME", "VERBS", "NAMESPACES", "RATE", "NODES", "CERTIFICATE", "UNTIL"}
	return command.WriteTable(e, out, list, asJSON, "", header, func(t listedToken) []string {
		verbs := make([]string, len(t.Verbs))
		for i, v := range t.Verbs {
			verbs[i] = string(v)
		}
		rate, nodes, until := "-", "-", "never"
		if t.Rate > 0 {
			rate = strconv.FormatFloat(t.Rate, 'g', -1, 64)
		}
		if t.Nodes > 0 {
			nodes = strconv.Itoa(t.Nodes)
		}
		if !t.Until.IsZero() {
			until = command.FormatTime(t.Until.Time)
		}
		if t.Ended {
			until += " (ended)"
		}
		return []string{
			t.Name, strings.Join(verbs, ","), cmp.Or(strings.Join(t.Namespaces, ","), "all"), rate, nodes,
			cmp.Or(t.Certificate, "-"), until,
		}
	})
}
