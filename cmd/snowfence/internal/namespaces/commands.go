// Package namespaces has the commands of what a store holds.
package namespaces

import (
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{namespaceCommand(e), leaseCommand(e), storeCommand(e), sqlCommand(e)}
}
