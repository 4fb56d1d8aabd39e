package ids

import (
	"bufio"
	"errors"
	"os"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/spf13/cobra"
)

func secretCommand(e *command.Env) *cobra.Command {
	create := &cobra.Command{
		Use: "new [FILE]", Short: "Make a secret", Args: cobra.MaximumNArgs(1),
		Long: `New makes a random secret for encrypted layouts: 32 hexadecimal digits, written to a
new FILE that only you can read, or to standard output. With a FILE, the ID of the
secret, which tells nothing about it, goes to standard error.`,
		Example: `  snowfence secret new /etc/app/id.key
  snowfence new --layout randflake --secret-file /etc/app/id.key --namespace users`,
	}
	create.RunE = e.Run(func(_ *cobra.Command, args []string, out *bufio.Writer) error {
		key := snowfence.GenerateSecret()
		text := append(key.AppendSecret(nil), '\n')
		defer clear(text)
		if len(args) == 0 {
			_, err := out.Write(text)
			return err
		}
		file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(text)
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return err
		}
		e.Message("secret %s is in %s: keep a copy where you keep other secrets", key.ID(), args[0])
		return nil
	})
	return command.Group(&cobra.Command{Use: "secret", Short: "Make a secret for encrypted IDs"}, create)
}
