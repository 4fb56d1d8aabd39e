package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/internal/disk"
	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
)

// storeOpens reports whether the store opened.
func storeOpens(_ context.Context, c *Case, r *report) {
	switch err := c.StoreErr; {
	case c.Store != nil:
		r.good(StoreUnusable, "", "%s answers", c.Store.Name)
		if own := c.Store.OwnFile; own != "" {
			r.found(StoreUnusable, own, "when no program uses it, create its sequences anew above their numbers "+
				"(--start), and delete it", "this user's programs used it, another scope: its IDs can be the same")
		}
		return
	case err == nil:
		r.unchecked(r.names, "", "an agent has servers in place of a store: run doctor over their store")
		return
	case errors.Is(err, open.ErrNoStore), errors.Is(err, sqlstore.ErrNoTables):
		create := "correct --store, or make a namespace: snowfence namespace create default" + c.Flags
		r.found(StoreMissing, "", create, "%v", err)
	case errors.Is(err, store.ErrReadOnly): // what is left to write is another identity
		r.found(StoreRestored, "", "after a restore, first see https://snowfence.github.io/snowfence/operate/"+
			"operations#backup; then start the programs: they wait, and their IDs begin above all earlier ones",
			"the data was restored, the server (Redis) restarted, or the store was never used: the next "+
				"program gives it another identity (%v)", err)
	default:
		r.found(StoreUnusable, "", "do what the error says", "%v", err)
	}
	others := slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return name == r.results[0].Name })
	r.unchecked(others, "", "the store could not be opened")
}

// versions has the names of the settings with a version, and the oldest
// that will do. It is zero where the store itself refuses older ones.
var versions = map[string][2]int{"server_version": {}, "version": {}, "redis_version": {6, 2}, "etcd_version": {3, 4}}

// storeSettings passes on the stores' own findings.
func storeSettings(ctx context.Context, c *Case, r *report) {
	all := []string{StoreVersion, StoreDurability, StoreRights}
	list, err := c.Store.Findings(ctx, lease.DefaultNamespace)
	if err != nil {
		r.unchecked(all, "", "%v", err)
		return
	}
	judgeSettings(c, r, list)
}

// judgeSettings judges the store's findings.
func judgeSettings(c *Case, r *report, list []open.Finding) {
	all := []string{StoreVersion, StoreDurability, StoreRights}
	rights, versioned, judged := "this kind of store does not tell the rights of a role", false, false
	for _, f := range list {
		_, version := versions[f.Name]
		switch {
		case version:
			versioned = true
			storeVersion(r, f.Name, f.Value)
		case f.Name == "rights":
			rights = f.Value
		case f.Name == "synchronous_commit" && f.Value == "off": // the store turns it on for itself
		case f.Advice != "":
			r.found(StoreDurability, f.Name, f.Advice, "%s is %s", f.Name, f.Value)
		default:
			judged = true
		}
	}
	if c.Store.Local {
		r.unchecked(all[:1], "", "an embedded store has no server")
		r.good(StoreDurability, "", "the store makes every commit to the file wait for the disk")
	} else {
		if !versioned {
			r.unchecked(all[:1], "", "the server did not tell its version")
		}
		if !judged {
			r.unchecked(all[1:2], "", "this kind of store does not tell which settings it runs with")
		}
	}
	storeRights(c, r, rights)
}

// storeVersion judges the version of a server.
func storeVersion(r *report, name, value string) {
	least, major, minor := versions[name], 0, 0
	_, err := fmt.Sscanf(value, "%d.%d", &major, &minor)
	switch {
	case err != nil && least != [2]int{}:
		r.unchecked([]string{StoreVersion}, "", "%s is %q, which is no number", name, value)
	case major < least[0] || major == least[0] && minor < least[1]:
		r.found(StoreVersion, "", fmt.Sprintf("use version %d.%d or a later one", least[0], least[1]),
			"%s is %s, and %d.%d is the oldest that will do", name, value, least[0], least[1])
	case name == "etcd_version" && etcdFault(value) != "":
		r.found(StoreVersion, "", "use version 3.4.21, 3.5.5 or a later one", "%s is %s: %s", name, value,
			etcdFault(value))
	default:
		r.good(StoreVersion, "", "%s is %s, which is new enough", name, value)
	}
}

// etcdFault returns the known fault of an etcd version, or "".
func etcdFault(version string) string {
	var minor, patch int
	_, _ = fmt.Sscanf(version, "3.%d.%d", &minor, &patch) // of another version nothing is known
	switch {
	case minor == 5 && patch < 3:
		return "the data of its members may come to differ, and a cluster of one member may lose writes that it " +
			"has acknowledged"
	case minor == 4 && patch < 21, minor == 5 && patch < 5:
		return "a cluster of one member may lose writes that it has acknowledged"
	}
	return ""
}

// storeRights judges the rights of this role. A role that may only read is
// a person's: it shows nothing of the programs' rights.
func storeRights(c *Case, r *report, rights string) {
	name := []string{StoreRights}
	switch {
	case c.Store.Local && !writable(c.Store.File()):
		r.unchecked(name, "", "this user may only read the file: run doctor as the user of the programs")
	case c.Store.Local:
		r.good(StoreRights, "", "this user may write the file")
	case !strings.Contains(rights, "SELECT"):
		r.unchecked(name, "", "%s", rights)
	case rights == "SELECT":
		r.unchecked(name, "", "this role may only read: run doctor with the role of the programs")
	case !strings.Contains(rights, "INSERT"), !strings.Contains(rights, "UPDATE"):
		r.found(StoreRights, "", "GRANT SELECT, INSERT, UPDATE ON snowfence_meta, snowfence_lease TO the role",
			"the role has %s on the tables, and programs need SELECT, INSERT and UPDATE", rights)
	default:
		r.good(StoreRights, "", "the role has %s on the tables", rights)
	}
}

// storeMoved names where the data is that was moved away, and what waits
// for its data.
func storeMoved(ctx context.Context, c *Case, r *report) {
	heads, _, err := c.Store.Leases.Heads(ctx)
	if err != nil {
		r.unchecked(r.names, "", "%v", err)
		return
	}
	for _, h := range heads {
		switch m, err := move.Of(h); {
		case err != nil:
			r.unchecked(r.names, h.Namespace, "%v", err)
		case m.From != "" || m.Into != "":
			r.found(StoreMoved, h.Namespace, "run it again: snowfence store move FROM TO",
				"a move from %s to %s has begun and not ended", cmp.Or(m.From, c.Store.Name),
				cmp.Or(m.To, c.Store.Name))
		case m.To != "":
			r.found(StoreMoved, h.Namespace, "give its programs that store", "it was moved to %s", m.To)
		}
	}
}

// fileSystem says where the file of an embedded store lies. Network file
// systems were refused when it was opened.
func fileSystem(_ context.Context, c *Case, r *report) {
	path := c.Store.File()
	if path == "" {
		r.unchecked([]string{StoreFileSystem}, "", "the store is on a server: look at its disks there")
		return
	}
	judgeFileSystem(path, disk.Kind(path), r)
}

func judgeFileSystem(path, kind string, r *report) {
	const cure = "keep the file on a disk of this machine, in a container on a volume"
	switch kind {
	case "":
		r.unchecked([]string{StoreFileSystem}, path, "this system does not tell which file system it is on")
	case "tmpfs", "ramfs":
		r.found(StoreFileSystem, path, cure, "the file is on %s, in memory: a restart of the machine forgets all "+
			"grants, and IDs come twice", kind)
	case "overlay", "aufs":
		r.found(StoreFileSystem, path, cure, "the file is on %s, the file system of a container: the next container "+
			"has an older file or none, and IDs come twice", kind)
	default:
		r.good(StoreFileSystem, path, "the file is on %s", kind)
	}
}

// sequences looks at the sequences of the store.
func sequences(ctx context.Context, c *Case, r *report) {
	list, err := sequence.List(ctx, c.Store.Leases)
	if err != nil {
		r.unchecked([]string{SequenceRolledBack, SequenceEnds}, "", "%v", err)
		return
	}
	for _, s := range list {
		switch {
		case s.Deleted:
		case s.RolledBack:
			r.found(SequenceRolledBack, s.Name, "snowfence sequence confirm "+s.Name+c.Flags,
				"the store may have lost numbers of this sequence, which stops until an operator confirms it")
		case s.Left == 0 && s.Definition.Pattern == "":
			r.found(SequenceEnds, s.Name, "make another sequence, or change its greatest number: snowfence sequence "+
				"change --help", "all its numbers are used")
		}
	}
}
