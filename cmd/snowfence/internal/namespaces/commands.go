// Package namespaces has the commands of a store's namespaces and leases.
package namespaces

import (
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{namespaceCommand(e), leaseCommand(e), storeCommand(e), sqlCommand(e)}
}
