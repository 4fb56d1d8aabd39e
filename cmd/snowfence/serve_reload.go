package main

import (
	"log/slog"
	"os"
	"runtime"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
)

// reload applies the settings as they are now. Nothing of it ends the server.
func (p *program) reload(s *serve.Process, c *serve.Config, level *slog.LevelVar, again func() (serve.Config, error)) {
	next, err := again()
	if err == nil {
		err = checkService(&next)
	}
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
	if each, _ := serve.Connections(c.MaxConns); each < c.MaxConns {
		p.message("warning: the system allows this program too few open files: HTTP and the Redis protocol get %d "+
			"connections each, not %d: raise the limit (ulimit -n, LimitNOFILE), or lower max-connections", each,
			c.MaxConns)
	}
}
