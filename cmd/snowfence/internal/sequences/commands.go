// Package sequences has the commands of sequences.
package sequences

import (
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{sequenceCommand(e)}
}
