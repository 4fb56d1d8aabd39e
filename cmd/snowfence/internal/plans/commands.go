// Package plans has the commands that plan layouts and sequences, and check
// IDs and numbers.
package plans

import (
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{planCommand(e), auditCommand(e)}
}
