package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// secretFlag names the files of the secrets of an encrypted layout, oldest first. There is
// no flag for a secret itself: everybody on a machine can read the command lines of
// others.
type secretFlag struct {
	files []string
	name  string // of the flag, in errors; "" is --secret-file
}

func (f *secretFlag) register(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.files, "secret-file", nil, "`file` with the secret of an encrypted layout; with "+
		"rotated secrets, all their files, oldest first")
}

// scheme makes the scheme of a layout with the secrets of the flag.
func (p *program) scheme(l snowfence.Layout, f *secretFlag) (*snowfence.Scheme, error) {
	keys, err := p.keys(f)
	if err != nil {
		return nil, err
	}
	return schemeOf(l, keys)
}

// schemeOf returns the scheme of a layout, or says which secret is missing.
func schemeOf(l snowfence.Layout, keys []*snowfence.Secret) (*snowfence.Scheme, error) {
	s, err := snowfence.NewScheme(l, keys...)
	switch {
	case errors.Is(err, snowfence.ErrKey) && len(keys) == 0:
		return nil, usagef("%w: add --secret-file FILE, with the secret that made these IDs; for new IDs "+
			"\"snowfence secret new FILE\" makes one", err)
	case errors.Is(err, snowfence.ErrKey):
		return nil, usageError{err}
	}
	return s, err
}

func (p *program) keys(f *secretFlag) ([]*snowfence.Secret, error) {
	var keys []*snowfence.Secret
	flag := cmp.Or(f.name, "--secret-file")
	for _, name := range f.files {
		p.warnReadable(name)
		key, err := open.Secret(name)
		switch {
		case errors.As(err, new(*fs.PathError)): // it has the name
			return nil, fmt.Errorf("%s: %w", flag, err)
		case err != nil:
			return nil, usagef("%s %s: %w", flag, name, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// secretArgs returns the flag as it was given on the command line, for a command that
// the user is told to run.
func (p *program) secretArgs(f *secretFlag) (args string) {
	if p.fromEnv["secret-file"] {
		return ""
	}
	for _, file := range f.files {
		args += " --secret-file " + quoted(file)
	}
	return args
}

// warnReadable warns of a file with a secret that others can read.
func (p *program) warnReadable(name string) {
	info, err := os.Stat(name)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		p.message("warning: %s can be read by others: chmod 600 %s", name, name)
	}
}

func (p *program) secretCommand() *cobra.Command {
	create := &cobra.Command{
		Use: "new [FILE]", Short: "Make a secret", Args: cobra.MaximumNArgs(1),
		Long: `New makes a random secret for encrypted layouts: 32 hexadecimal digits, written to a
new FILE that only you can read, or to standard output. With a FILE, the ID of the
secret, which tells nothing about it, goes to standard error.`,
		Example: `  snowfence secret new /etc/app/id.key
  snowfence new --layout randflake --secret-file /etc/app/id.key --namespace users`,
	}
	create.RunE = p.runE(func(_ *cobra.Command, args []string, out *bufio.Writer) error {
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
		p.message("secret %s is in %s: keep a copy where you keep other secrets", key.ID(), args[0])
		return nil
	})
	return group(&cobra.Command{Use: "secret", Short: "Make a secret for encrypted IDs"}, create)
}
