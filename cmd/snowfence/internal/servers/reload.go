package servers

import (
	"log/slog"
	"os"
	"runtime"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
)

// reload applies the settings as they are now. An error does not end the
// server.
func reload(
	e *command.Env, s *serve.Process, c *serve.Config, level *slog.LevelVar, again func() (serve.Config, error),
) {
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
		warnFiles(e, &next)
	}
}

func logLevel(c *serve.Config) slog.Level {
	if c.LogDebug {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// warnFiles warns of keys and passwords that every user of this machine can
// read.
func warnFiles(e *command.Env, c *serve.Config) {
	files := append(open.SecretFiles(c.Store, e.Getenv), c.TLSKey, c.TokenFile)
	for _, name := range files {
		info, err := os.Stat(name)
		if name != "" && err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
			e.Message("warning: every user of this machine can read %s: chmod 640 %s", name, name)
		}
	}
	if each, _ := serve.Connections(c.MaxConns); each < c.MaxConns {
		e.Message("warning: the system allows this program too few open files: HTTP and the Redis protocol get %d "+
			"connections each, not %d: raise the limit (ulimit -n, LimitNOFILE), or lower max-connections", each,
			c.MaxConns)
	}
}
