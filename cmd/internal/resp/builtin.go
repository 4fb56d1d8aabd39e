package resp

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// The commands that every Redis client expects of a server.

func ping(c *conn, args [][]byte) {
	switch len(args) {
	case 1:
		c.out = appendSimple(c.out, "PONG")
	case 2:
		c.out = appendBulk(c.out, args[1])
	default:
		c.writeError("wrong number of arguments for 'ping' command")
	}
}

func echo(c *conn, args [][]byte) { c.out = appendBulk(c.out, args[1]) }

func reset(c *conn, _ [][]byte) {
	c.proto, c.name, c.space, c.triedAuth, c.judge = 2, "", nil, false, judgement{}
	c.queue, c.counter = queue{}, counter{}
	c.identify(time.Now())
	c.out = appendSimple(c.out, "RESET")
}

func selectDB(c *conn, args [][]byte) {
	if string(args[1]) != "0" {
		c.writeError("DB index is out of range: there is only 0")
		return
	}
	c.out = appendSimple(c.out, "OK")
}

// auth is AUTH [user] token. The user may be anything.
func auth(c *conn, args [][]byte) {
	if len(args) > 3 {
		c.writeError("syntax error: AUTH [username] token")
		return
	}
	if c.loginWith(args[len(args)-1]) {
		c.out = appendSimple(c.out, "OK")
	}
}

// A connection that guesses tokens is slow, and ends soon.
const (
	wrongDelay = 100 * time.Millisecond
	mostWrong  = 3
)

// loginWith takes a token, or writes the error reply.
func (c *conn) loginWith(token []byte) bool {
	a := c.srv.cfg.Auth()
	if a.Anyone() != nil {
		c.writeError("AUTH called without any token configured: this server has no tokens, and lets all clients in")
		return false
	}
	id, err := a.Identify(string(token))
	c.triedAuth = true
	if err != nil {
		c.countRefused(err.Error())
		c.out = appendError(c.out, "WRONGPASS", "invalid username-password pair or user is disabled.")
		c.id = nil // after a failed AUTH the client is unknown
		select {
		case <-time.After(wrongDelay):
		case <-c.srv.life.Done():
		}
		c.wrong++
		c.quit = c.wrong == mostWrong
		return false
	}
	c.id, c.wrong = id, 0
	return c.claimPlace()
}

func quit(c *conn, _ [][]byte) {
	c.out = appendSimple(c.out, "OK")
	c.quit = true
}

// hello is HELLO [version [AUTH user token] [SETNAME name]].
func hello(c *conn, args [][]byte) {
	proto := c.proto
	rest := args[1:]
	if len(rest) > 0 {
		v, err := strconv.Atoi(string(rest[0]))
		if err != nil || v < 2 || v > 3 {
			c.out = appendError(c.out, "NOPROTO", "unsupported protocol version")
			return
		}
		proto, rest = version(v), rest[1:]
	}
	name := c.name
	for len(rest) > 0 {
		switch {
		case equalFold(rest[0], "AUTH") && len(rest) >= 3:
			if !c.loginWith(rest[2]) {
				return
			}
			rest = rest[3:]
		case equalFold(rest[0], "SETNAME") && len(rest) >= 2:
			if !validName(rest[1]) {
				c.writeError("Client names cannot contain spaces, newlines or special characters.")
				return
			}
			name, rest = string(rest[1]), rest[2:]
		default:
			c.writeError("syntax error in HELLO option '" + server.Clip(rest[0]) + "'")
			return
		}
	}
	if c.id == nil {
		c.out = appendError(c.out, "NOAUTH", "HELLO must be called with the client already authenticated, "+
			"otherwise the HELLO <proto> AUTH <user> <pass> option can be used")
		return
	}
	c.proto, c.name = proto, name
	c.out = appendMap(c.out, 7, proto)
	for _, pair := range [][2]string{{"server", "snowfence"}, {"version", c.srv.cfg.Version}} {
		c.out = appendBulk(c.out, pair[0])
		c.out = appendBulk(c.out, pair[1])
	}
	c.out = appendBulk(c.out, "proto")
	c.out = appendInt(c.out, int64(proto))
	c.out = appendBulk(c.out, "id")
	c.out = appendInt(c.out, c.number)
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.out = appendBulk(c.out, pair[0])
		c.out = appendBulk(c.out, pair[1])
	}
	c.out = appendBulk(c.out, "modules")
	c.out = appendArray(c.out, 0)
}

func validName(b []byte) bool {
	for _, ch := range b {
		if ch < '!' || ch > '~' {
			return false
		}
	}
	return len(b) <= 256
}

// client is CLIENT with the subcommands that clients send by themselves.
func client(c *conn, args [][]byte) {
	sub := strings.ToUpper(server.Clip(args[1]))
	if c.id == nil && sub != "SETINFO" && sub != "SETNAME" {
		c.noAuth()
		return
	}
	switch {
	case sub == "SETNAME" && len(args) == 3:
		if !validName(args[2]) {
			c.writeError("Client names cannot contain spaces, newlines or special characters.")
			return
		}
		c.name = string(args[2])
		c.out = appendSimple(c.out, "OK")
	case sub == "GETNAME" && len(args) == 2:
		if c.name == "" {
			c.out = appendNull(c.out, c.proto)
			return
		}
		c.out = appendBulk(c.out, c.name)
	case sub == "SETINFO" && len(args) == 4, sub == "NO-EVICT" && len(args) == 3, sub == "NO-TOUCH" && len(args) == 3:
		c.out = appendSimple(c.out, "OK")
	case sub == "ID" && len(args) == 2:
		c.out = appendInt(c.out, c.number)
	case (sub == "INFO" || sub == "LIST") && len(args) == 2:
		c.out = appendBulk(c.out, fmt.Sprintf("id=%d addr=%s name=%s user=%s resp=%d\n",
			c.number, c.c.RemoteAddr(), c.name, c.id.Name, c.proto))
	default:
		c.writeError("unknown subcommand or wrong number of arguments for 'client|" + strings.ToLower(sub) + "'")
	}
}

// describe is COMMAND, or COMMAND INFO with names.
func describe(c *conn, args [][]byte) {
	list := c.srv.table
	if len(args) > 1 {
		if !equalFold(args[1], "INFO") {
			c.writeError("unknown subcommand '" + server.Clip(args[1]) + "': COMMAND [INFO]")
			return
		}
		list = nil
		for _, name := range args[2:] {
			list = append(list, c.srv.findCommand(name))
		}
	}
	c.out = appendArray(c.out, len(list))
	for _, cmd := range list {
		c.describeOne(cmd)
	}
}

// describeOne is the answer of COMMAND INFO. A key is the first argument.
func (c *conn) describeOne(cmd *command) {
	if cmd == nil {
		c.out = appendNull(c.out, c.proto)
		return
	}
	c.out = appendArray(c.out, 6)
	c.out = appendBulk(c.out, strings.ToLower(cmd.name))
	c.out = appendInt(c.out, int64(cmd.arity))
	first := int64(0)
	if cmd.key == "" {
		c.out = appendArray(c.out, 1)
	} else {
		first = 1
		c.out = appendArray(c.out, 2)
		c.out = appendSimple(c.out, string(cmd.key))
	}
	c.out = appendSimple(c.out, "fast")
	for range 3 { // the first key, the last one, and how far each is from the next
		c.out = appendInt(c.out, first)
	}
}

// info is INFO, in the form of Redis; clients look for loading:0 before
// they begin. It has no list: it counts for no rate.
func info(c *conn, _ [][]byte) {
	s := c.srv
	c.out = appendBulk(c.out, fmt.Sprintf("# Server\r\nserver:snowfence\r\nsnowfence_version:%s\r\ngo_version:%s\r\n"+
		"uptime_in_seconds:%d\r\n\r\n# Clients\r\nconnected_clients:%d\r\nmaxclients:%d\r\n\r\n"+
		"# Persistence\r\nloading:0\r\n\r\n# Stats\r\ntotal_commands_processed:%d\r\nrejected_connections:%d\r\n\r\n"+
		"# Replication\r\nrole:master\r\n", s.cfg.Version, runtime.Version(), int64(time.Since(s.startTime).Seconds()),
		s.Connections.Load(), s.cfg.MaxConns, s.Requests.Load(), s.Refused.Load()))
}
