package main

import (
	"bufio"
	"context"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/spf13/cobra"
)

func (p *program) serversCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "servers", Short: "List the servers over a store", Args: cobra.NoArgs,
		Long: `Servers lists the servers that use a store: label, version, start, and the nodes of each
server's own leases. Each server writes a record every 20 s. A server that was killed stays in
the list for a minute.`,
		Example: "  snowfence servers --store postgres://reader@db.example/ids",
	}
	return p.listCommand(cmd, func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error {
		list, err := server.ListServers(ctx, st.Leases)
		if err != nil {
			return err
		}
		header := []string{"SERVER", "VERSION", "SINCE", "NODES"}
		return writeTable(p, out, list, asJSON, "no server uses "+st.Name, header, func(s *pb.ServerInfo) []string {
			var nodes []string
			for _, h := range s.Nodes {
				nodes = append(nodes, h.Namespace+" "+nodeRange(h.FirstNode, h.LastNode))
			}
			return []string{s.Label, s.Version, s.Since.AsTime().Format(time.RFC3339), strings.Join(nodes, ", ")}
		})
	})
}
