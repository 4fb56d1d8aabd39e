package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Server describes the Redis server that keeps a namespace.
type Server struct {
	Version string // of Redis
	Policy  string // maxmemory-policy
	AOF     bool   // appendonly yes
	Fsync   string // appendfsync; "" if the user may not read it, as on most hosted servers

	run    string // of its process
	pauses bool   // no-appendfsync-on-rewrite yes
}

// Loses says which acknowledged writes a crash of the server loses, by its
// persistence; "" means none. For a failover see Options.Replicas.
func (v Server) Loses() string {
	switch {
	case !v.AOF:
		return "appendonly is no: a restart goes back to the last snapshot, or to nothing: set appendonly yes " +
			"and appendfsync always"
	case v.pauses:
		return "no-appendfsync-on-rewrite is yes: a crash while Redis rewrites its file loses what its system had " +
			"not written, often 30 s: set it to no, and appendfsync always"
	case v.Fsync == "always":
		return ""
	case v.Fsync == "everysec" && v.hasWAITAOF():
		return "appendfsync is everysec: a crash loses up to two seconds of grants: set appendfsync always, or use " +
			"Options.AOF"
	case v.Fsync == "everysec":
		return "appendfsync is everysec: a crash loses up to two seconds of grants: set appendfsync always"
	case v.Fsync == "no":
		return "appendfsync is no: a crash of the machine loses what its system had not written, often 30 s: " +
			"set appendfsync always"
	}
	return "appendfsync is not known (CONFIG GET is not allowed): unless it is always, a crash may lose seconds " +
		"of grants"
}

// checked is the knowledge about a server, and its time.
type checked struct {
	server Server
	at     time.Time
	err    error // why it cannot be used
}

// recheck is when to look at a server again, because its settings may
// change.
const recheck = time.Minute

// Server asks the server of a namespace for its present settings.
func (s *Store) Server(ctx context.Context, namespace string) (Server, error) {
	if err := checkName(namespace); err != nil {
		return Server{}, err
	}
	v, err := s.inspectServer(ctx, namespace)
	if err != nil {
		err = s.explainError(namespace, err)
	}
	return v, err
}

// checkServer looks at the server with a run ID unless that was done, and
// refuses a server that evicts.
func (s *Store) checkServer(ctx context.Context, namespace, run string) error {
	s.mu.Lock()
	c := s.servers[run]
	if c != nil && time.Since(c.at) < recheck {
		s.mu.Unlock()
		return c.err
	}
	if c != nil { // the others go on with what is known
		s.servers[run] = &checked{c.server, time.Now(), c.err}
	}
	s.mu.Unlock()
	v, err := s.inspectServer(ctx, namespace)
	if err == nil && v.run != run {
		err = errors.New("the server became another one while it was looked at")
	}
	if err != nil {
		s.mu.Lock()
		delete(s.servers, run)
		s.mu.Unlock()
	}
	return err
}

// inspectServer asks the server of a namespace for its settings, and
// refuses a server that evicts.
func (s *Store) inspectServer(ctx context.Context, namespace string) (v Server, err error) {
	c, err := s.dedicate(ctx)
	if err != nil {
		return v, err
	}
	defer c.release()
	a, err := parse(s.sendCommands(ctx, c, func(known bool) []rueidis.Completed {
		return []rueidis.Completed{s.buildCall(readScript, known, namespace, []string{"server"})}
	})[0])
	if err != nil {
		return v, err
	}
	info, err := a.body[0].ToString()
	if err != nil {
		return v, err
	}
	facts := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[name] = value
	}
	v = Server{
		run: a.run, Version: facts["redis_version"], Policy: facts["maxmemory_policy"],
		AOF: facts["aof_enabled"] == "1",
	}
	ctx, cancel := limit(ctx, answerTimeout)
	defer cancel()
	fsync, err := c.Do(ctx, s.client.B().ConfigGet().Parameter("*appendfsync*").Build()).AsStrMap()
	if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
		return v, err
	}
	v.Fsync, v.pauses = fsync["appendfsync"], fsync["no-appendfsync-on-rewrite"] == "yes" // hosted servers do not tell
	if v.Policy != "noeviction" {
		err = fmt.Errorf("maxmemory-policy is %q, with which Redis may throw grants away: set it to noeviction, "+
			"or use another server", v.Policy)
	} else if err = nil; s.opts.AOF && !v.AOF {
		err = errors.New("appendonly is no, and Options.AOF asks for it: set appendonly yes")
	} else if s.opts.AOF && !v.hasWAITAOF() && (v.Fsync != "always" || v.pauses) {
		err = fmt.Errorf("Options.AOF needs WAITAOF, of Redis 7.2 or later, or appendfsync always and "+
			"no-appendfsync-on-rewrite no; this is Redis %s with appendfsync %q", v.Version, v.Fsync)
	}
	s.mu.Lock()
	before := s.servers[v.run]
	s.servers[v.run] = &checked{v, time.Now(), err}
	s.mu.Unlock()
	if before == nil || before.server != v {
		s.opts.Logger.Info("redis server", "namespace", namespace, "version", v.Version, "run", v.run,
			"appendonly", v.AOF, "appendfsync", v.Fsync, "policy", v.Policy)
		if loses := v.Loses(); loses != "" {
			s.opts.Logger.Warn("redis may lose grants", "namespace", namespace, "cause", loses)
		}
	}
	return v, err
}

// hasWAITAOF reports whether the server knows WAITAOF.
func (v Server) hasWAITAOF() bool {
	var major, minor int
	_, err := fmt.Sscanf(v.Version, "%d.%d", &major, &minor)
	return err == nil && (major > 7 || major == 7 && minor >= 2)
}
