package main

import (
	"log/slog"
	"os"
	"runtime"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/spf13/pflag"
)

// givenSettings returns what reads the settings again: the flags given so far, by the
// command line and the environment, stay as they are; the file may have changed.
func givenSettings(flags *pflag.FlagSet) func() (serve.Config, error) {
	var given []func(fs *pflag.FlagSet) error
	flags.Visit(func(f *pflag.Flag) {
		if !isSetting(&serve.Config{}, f.Name) {
			return
		}
		name, text := f.Name, f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values := list.GetSlice()
			given = append(given, func(fs *pflag.FlagSet) error {
				own := fs.Lookup(name)
				own.Changed = true
				return own.Value.(pflag.SliceValue).Replace(values)
			})
			return
		}
		if strings.HasPrefix(f.Value.Type(), "stringTo") {
			text = text[1 : len(text)-1] // without the brackets around it
		}
		given = append(given, func(fs *pflag.FlagSet) error { return fs.Set(name, text) })
	})
	return func() (c serve.Config, err error) {
		fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		bindSettings(fs, &c)
		for _, set := range given {
			if err := set(fs); err != nil {
				return c, err
			}
		}
		if err := readSettings(fs, &c); err != nil {
			return c, err
		}
		return c, checkService(&c)
	}
}

// isSetting reports whether a flag is one of the server's settings.
func isSetting(c *serve.Config, name string) bool {
	for tag := range c.Settings() {
		if tag.Get("name") == name {
			return true
		}
	}
	return false
}

// reload applies the settings as they are now. Nothing of it ends the server.
func (p *program) reload(s *serve.Process, c *serve.Config, level *slog.LevelVar, again func() (serve.Config, error)) {
	next, err := again()
	if err != nil {
		s.ReloadFailed(err)
		return
	}
	next.Logger = c.Logger
	if s.Reload(next) == nil { // it logs its error
		level.Set(logLevel(&next))
		p.warnFiles(&next)
	}
}

func logLevel(c *serve.Config) slog.Level {
	if c.LogDebug {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// warnFiles warns of keys and passwords that every user of this machine can read.
func (p *program) warnFiles(c *serve.Config) {
	files := append(open.SecretFiles(c.Store, func(name string) string { return p.env[name] }), c.TLSKey)
	for _, name := range files {
		info, err := os.Stat(name)
		if name != "" && err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
			p.message("warning: every user of this machine can read %s: chmod 640 %s", name, name)
		}
	}
	if most := mostFiles(); most < 2*uint64(c.MaxConns) {
		p.message("warning: the system allows this program %d open files, and HTTP and the Redis protocol may have "+
			"%d connections each: raise the limit (ulimit -n, LimitNOFILE), or lower max-connections", most, c.MaxConns)
	}
}
