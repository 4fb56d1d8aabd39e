package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/spf13/pflag"
)

// SecretFlag names the files of the secrets of an encrypted layout, oldest
// first. There is no flag for a secret itself: everybody on a machine can
// read the command lines of others.
type SecretFlag struct {
	Files []string
	Name  string // of the flag, in errors; "" is --secret-file

	flag *pflag.Flag
}

// Register adds the flag.
func (f *SecretFlag) Register(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.Files, "secret-file", nil, "`file` with the secret of an encrypted layout; with "+
		"rotated secrets, all their files, oldest first")
	f.flag = fs.Lookup("secret-file")
}

// Scheme makes the scheme of a layout with the secrets of the flag.
func (f *SecretFlag) Scheme(e *Env, l snowfence.Layout) (*snowfence.Scheme, error) {
	keys, err := f.Keys(e)
	if err != nil {
		return nil, err
	}
	return SchemeOf(l, keys)
}

// SchemeOf returns the scheme of a layout, or says which secret is missing.
func SchemeOf(l snowfence.Layout, keys []*snowfence.Secret) (*snowfence.Scheme, error) {
	s, err := snowfence.NewScheme(l, keys...)
	switch {
	case errors.Is(err, snowfence.ErrKey) && len(keys) == 0:
		return nil, Usagef("%w: add --secret-file FILE, with the secret that made these IDs; for new IDs "+
			"\"snowfence secret new FILE\" makes one", err)
	case errors.Is(err, snowfence.ErrKey):
		return nil, Usage(err)
	}
	return s, err
}

// Keys reads the secrets, and warns of files that others can read.
func (f *SecretFlag) Keys(e *Env) ([]*snowfence.Secret, error) {
	var keys []*snowfence.Secret
	flag := cmp.Or(f.Name, "--secret-file")
	for _, name := range f.Files {
		WarnReadable(e, name)
		key, err := open.Secret(name)
		switch {
		case errors.As(err, new(*fs.PathError)): // it has the name
			return nil, fmt.Errorf("%s: %w", flag, err)
		case err != nil:
			return nil, Usagef("%s %s: %w", flag, name, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Args returns the flag as it was given on the command line, for a command
// that the user is told to run.
func (f *SecretFlag) Args() (args string) {
	if ofEnvironment(f.flag) {
		return ""
	}
	for _, file := range f.Files {
		args += " --secret-file " + Quoted(file)
	}
	return args
}

// WarnReadable warns of a file with a secret that others can read.
func WarnReadable(e *Env, name string) {
	info, err := os.Stat(name)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		e.Message("warning: %s can be read by others: chmod 600 %s", name, name)
	}
}
