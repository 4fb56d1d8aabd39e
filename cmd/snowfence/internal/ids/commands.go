// Package ids has the commands that make IDs and take them apart.
package ids

import (
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newCommand(e), decodeCommand(e), rangeCommand(e), secretCommand(e)}
}
