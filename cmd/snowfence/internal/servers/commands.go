// Package servers has the commands that serve, and those about servers and
// their clients.
package servers

import (
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{serveCommand(e), agentCommand(e), serversCommand(e), tokenCommand(e), doctorCommand(e)}
}
