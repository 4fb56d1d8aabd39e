// Package servers has the commands that serve, and those about servers and
// their clients.
package servers

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{serveCommand(e), agentCommand(e), serversCommand(e), tokenCommand(e), doctorCommand(e)}
}

func serversCommand(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "servers", Short: "List the servers over a store", Args: cobra.NoArgs,
		Long: `Servers lists the servers that use a store: label, version, start, and the nodes of each
server's own leases, and when the server was last seen, whether it is ready, and how long its
leases last if they are not renewed. Of a unit it says how many nodes are sublet. Each server
writes a record every 20 s. One that was killed is not called ready after half a minute, and
leaves the list after a minute.`,
		Example: "  snowfence servers --store postgres://reader@db.example/ids",
	}
	return command.ListCommand(e, cmd, func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error {
		list, err := server.ListServers(ctx, st.Leases)
		if err != nil {
			return err
		}
		header := []string{"SERVER", "VERSION", "SINCE", "SEEN", "READY", "NODES"}
		if asJSON {
			return command.WriteTable(e, out, list, true, "", header, nil)
		}
		var rows [][]string
		for _, s := range list {
			rows = append(rows, serverRows(s, e.Now())...)
		}
		row := func(cells []string) []string { return cells }
		return command.WriteTable(e, out, rows, false, "no server uses "+st.Name, header, row)
	})
}

// serverRows are the lines of a server, one for each of its namespaces.
// Only the first line has its other facts.
func serverRows(s *pb.ServerInfo, now time.Time) (rows [][]string) {
	var held []string
	for _, h := range s.Nodes {
		ends := "ended"
		if h.Until != nil {
			ends = "ends " + show.Ago(h.Until.AsTime(), now)
		}
		if h.Sublet != nil {
			ends = fmt.Sprintf("%d sublet, %s", *h.Sublet, ends)
		}
		held = append(held, fmt.Sprintf("%s %s (%s)", h.Namespace, command.NodeRange(h.FirstNode, h.LastNode), ends))
	}
	for _, name := range s.Failing {
		held = append(held, name+" (no lease)")
	}
	if held == nil {
		held = []string{""}
	}
	ready := map[bool]string{true: "yes", false: "no"}[s.Ready]
	facts := []string{s.Label, s.Version, s.Since.AsTime().Format(time.RFC3339), show.Ago(s.Seen.AsTime(), now), ready}
	for _, text := range held {
		rows = append(rows, append(facts, text))
		facts = make([]string, len(facts))
	}
	return rows
}
