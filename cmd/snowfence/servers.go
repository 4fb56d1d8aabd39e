package main

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/spf13/cobra"
)

func (p *program) serversCommand() *cobra.Command {
	var f storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "servers", Short: "List the servers over a store", Args: cobra.NoArgs,
		Long: `Servers lists the servers that use a store: label, version, start, and the nodes of each
server's own leases. Each server writes a record every 20 s. A server that was killed stays in
the list for a minute.`,
		Example: "  snowfence servers --store postgres://reader@db.example/ids",
	}
	f.registerStore(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = p.runE(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		st, err := p.lookStore(cmd.Context(), &f)
		if err != nil {
			return err
		}
		defer st.Close()
		list, err := server.ListServers(cmd.Context(), st.Leases)
		if err != nil {
			return err
		}
		rows := [][]string{{"SERVER", "VERSION", "SINCE", "NODES"}}
		for _, s := range list {
			if asJSON {
				if err := writeMessage(out, s); err != nil {
					return err
				}
				continue
			}
			var nodes []string
			for _, h := range s.Nodes {
				nodes = append(nodes, fmt.Sprintf("%s %d-%d", h.Namespace, h.FirstNode, h.LastNode))
			}
			since := s.Since.AsTime().Format(time.RFC3339)
			rows = append(rows, []string{s.Label, s.Version, since, strings.Join(nodes, ", ")})
		}
		switch {
		case asJSON:
			return nil
		case len(list) == 0:
			p.message("no server uses %s", st.Name)
			return nil
		}
		_, err = out.Write(appendTable(nil, rows))
		return err
	})
	return cmd
}
