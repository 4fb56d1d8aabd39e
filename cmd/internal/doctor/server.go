package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// servers asks the server of the settings, and reads the records of all
// servers over the store. A server's address is not known to the store.
func servers(ctx context.Context, c *Case, r *report) {
	ownServer(ctx, c, r)
	if c.Store == nil {
		r.unchecked(r.names, "", "the store could not be opened")
		return
	}
	list, err := server.ListServers(ctx, c.Store.Leases)
	if err != nil {
		r.unchecked(r.names, "", "%v", err)
		return
	}
	const look = "see its log, or /readyz on its admin address"
	for _, s := range list {
		switch age := c.Now().Sub(s.Seen.AsTime()).Round(time.Second); {
		case s.Ready:
			r.good(ServerNotReady, s.Label, "it is ready")
		case age > server.LateAfter:
			r.found(ServerNotReady, s.Label, "look whether it runs and reaches the store",
				"it was seen %v ago and writes every 20 s: it was killed, it hangs, or it cannot write", age)
		default:
			r.found(ServerNotReady, s.Label, look, "it says that it is not ready")
		}
		for _, name := range s.Failing {
			r.found(ServerNotReady, s.Label, look, "it makes no IDs of namespace %q: it holds no lease, because its "+
				"renewals fail, or its grant begins later", name)
		}
	}
	if len(list) == 0 {
		r.good(ServerNotReady, "", "no server says that it uses this store")
	}
}

// ownServer asks the server of the settings. That server perhaps does not
// reach the store that doctor reaches.
func ownServer(ctx context.Context, c *Case, r *report) {
	if c.Config == nil {
		return
	}
	if c.Config.Admin == "" && c.Config.HTTP == "" {
		r.unchecked([]string{ServerNotReady}, c.Config.File, "the server has no address that says whether it is ready")
		return
	}
	switch err := serve.Probe(ctx, *c.Config, "/readyz"); {
	case err == nil:
		r.good(ServerNotReady, c.Config.File, "the server of these settings answers that it is ready")
	case errors.Is(err, serve.ErrNotReady):
		r.found(ServerNotReady, c.Config.File, "do what it says; its log has more", "%v", err)
	default:
		r.unchecked([]string{ServerNotReady}, c.Config.File, "%v", err)
	}
}

// leastFree is what a disk has to have free, in bytes. A store and state
// files are small, but others on the disk may grow.
const leastFree = 100 << 20

// space looks at the free room on the disks of an SQLite file and of a
// folder of state files.
func space(_ context.Context, c *Case, r *report) {
	var paths []string
	if c.Store != nil && c.Store.File() != "" {
		paths = append(paths, c.Store.File())
	}
	if c.StateDir != "" {
		paths = append(paths, c.StateDir)
	}
	for _, path := range paths {
		if n, err := freeBytes(path); err != nil {
			r.unchecked([]string{DiskFull}, path, "%v", err)
		} else {
			judgeSpace(path, n, r)
		}
	}
	if len(paths) == 0 {
		r.unchecked([]string{DiskFull}, "", "the store is no file of this machine, and no --state-dir is named")
	}
}

func judgeSpace(path string, free int64, r *report) {
	if free >= leastFree {
		r.good(DiskFull, path, "%s MB are free on its disk", show.Thousands(free>>20))
		return
	}
	r.found(DiskFull, path, "make room on the disk: without it nothing is granted", "%s kB are free on its disk",
		show.Thousands(free>>10))
}
