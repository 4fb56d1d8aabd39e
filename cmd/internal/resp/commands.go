package resp

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

func next(c *conn, args [][]byte) { c.next(args) }

// nextOptions has the options of SNOWFENCE.NEXT.
type nextOptions struct {
	count, tag *int64 // nil for none
	runs       bool
}

// next is SNOWFENCE.NEXT namespace [COUNT n [RUNS]] [TAG t]. It reports
// whether the reply is one ID of a command without options.
func (c *conn) next(args [][]byte) bool {
	switch {
	case len(args) < 2:
		c.writeError("wrong number of arguments for 'snowfence.next' command")
		return false
	case len(args) > 2:
		c.nextMany(args)
		return false
	}
	sp, ok := c.authorizedSpace(args[1], server.VerbIDs, 1)
	if !ok {
		return false
	}
	id, err := sp.Next(c.srv.life)
	if err != nil {
		c.writeFailure(err)
		return false
	}
	c.out = appendID(c.out, id)
	return true
}

func (c *conn) nextMany(args [][]byte) {
	if c.id == nil {
		c.noAuth()
		return
	}
	o, wrong := parseNext(args[2:])
	if wrong != "" {
		c.writeError(wrong)
		return
	}
	one := int64(1)
	order := server.Order{Namespace: string(args[1]), Count: *cmp.Or(o.count, &one), Tag: o.tag}
	service, caller := c.srv.cfg.Service, c.caller()
	defer c.ended(caller)
	if o.runs {
		c.nextRuns(caller, order)
		return
	}
	order.Room = 8 * order.Count // the text of it comes in pieces
	err := service.IDs.Batch(c.srv.life, caller, order, func(ids []snowfence.ID) {
		if o.count != nil {
			c.out = appendArray(c.out, len(ids))
		}
		for len(ids) > 0 && !c.quit {
			k := min(len(ids), firstBuffer/32)
			for _, id := range ids[:k] {
				c.out = appendID(c.out, id)
			}
			ids = ids[k:]
			c.flushFull()
		}
	})
	if err != nil {
		c.writeFailure(err)
	}
}

// parseNext reads [COUNT n [RUNS]] [TAG t]. wrong is an error for the
// client, or "".
func parseNext(args [][]byte) (o nextOptions, wrong string) {
	for len(args) > 0 {
		var value **int64
		switch {
		case equalFold(args[0], "RUNS") && o.count != nil && !o.runs:
			o.runs, args = true, args[1:]
			continue
		case equalFold(args[0], "COUNT") && o.count == nil:
			value = &o.count
		case equalFold(args[0], "TAG") && o.tag == nil:
			value = &o.tag
		}
		if value == nil || len(args) < 2 {
			return o, "syntax error: SNOWFENCE.NEXT namespace [COUNT n [RUNS]] [TAG t]"
		}
		n, err := strconv.ParseInt(string(args[1]), 10, 64)
		if err != nil {
			return o, strings.ToUpper(string(args[0])) + " is not an integer"
		}
		*value, args = &n, args[2:]
	}
	return o, ""
}

// authorizedSpace finds the namespace of a command, most often the
// namespace of the one before, and checks the caller's right to it. The
// command counts as n IDs.
func (c *conn) authorizedSpace(name []byte, v server.Verb, n int64) (*server.Space, bool) {
	if c.id == nil {
		c.noAuth()
		return nil, false
	}
	sp, err := c.space, error(nil)
	if sp == nil || string(name) != sp.Name || sp.Stale() {
		sp, err = c.srv.cfg.Service.Spaces.Admit(c.srv.life, c.id, v, string(name), n)
	} else {
		err = c.id.Authorize(v, sp.Name, n)
	}
	if err != nil {
		c.writeFailure(err)
		return nil, false
	}
	c.space = sp
	return sp, true
}

func (c *conn) nextRuns(caller *server.Caller, o server.Order) {
	runs, err := c.srv.cfg.Service.IDs.Runs(c.srv.life, caller, o)
	if err != nil {
		c.writeFailure(err)
		return
	}
	c.out = appendArray(c.out, len(runs))
	for _, r := range runs {
		c.out = appendArray(c.out, 3)
		c.out = appendID(c.out, r.First)
		c.out = appendID(c.out, r.Last)
		c.out = appendInt(c.out, r.Step)
	}
}

// decode is SNOWFENCE.DECODE namespace id. The ID may have a prefix.
func decode(c *conn, args [][]byte) {
	sp, ok := c.authorizedSpace(args[1], server.VerbRead, 1)
	if !ok {
		return
	}
	id, _, err := show.ReadID(snowfence.Decimal, args[2])
	if err != nil {
		c.writeFailure(err)
		return
	}
	p, err := sp.Decode(id)
	if err != nil {
		c.writeFailure(err)
		return
	}
	fields := sp.Fields(p)
	c.out = appendMap(c.out, 2+len(fields), c.proto)
	c.out = appendBulk(c.out, "id")
	c.out = appendID(c.out, id)
	c.out = appendBulk(c.out, "time")
	c.out = appendBulk(c.out, p.Time.Format(time.RFC3339Nano))
	for _, f := range fields {
		c.out = appendBulk(c.out, f.Name)
		c.out = appendInt(c.out, f.Value)
	}
}

// rangeOf is SNOWFENCE.RANGE namespace from to [WITHIN tag=7]. Times are
// RFC 3339, or milliseconds since 1970. The reply is low and high, or a
// list of these where fields stand above the time.
func rangeOf(c *conn, args [][]byte) {
	sp, ok := c.authorizedSpace(args[1], server.VerbRead, 1)
	if !ok {
		return
	}
	from, err := server.ParseTime(string(args[2]))
	to, err2 := server.ParseTime(string(args[3]))
	var within map[string]int64
	if len(args) > 4 {
		if len(args) != 6 || !equalFold(args[4], "WITHIN") {
			c.writeError("syntax error: SNOWFENCE.RANGE namespace from to [WITHIN field=number]")
			return
		}
		var err3 error
		within, err3 = server.ReadWithin(string(args[5]))
		err2 = errors.Join(err2, err3)
	}
	if err = errors.Join(err, err2); err != nil {
		c.writeFailure(err)
		return
	}
	service, caller := c.srv.cfg.Service, c.caller()
	defer c.ended(caller)
	if err := service.Reserve(caller, sp.RangesRoom()); err != nil {
		c.writeFailure(err)
		return
	}
	list, several, err := sp.Ranges(from, to, within)
	if err != nil {
		c.writeFailure(err)
		return
	}
	if several {
		c.out = appendArray(c.out, len(list))
	}
	for _, r := range list {
		c.out = appendArray(c.out, 2)
		c.out = appendID(c.out, snowfence.ID(r.Low))
		c.out = appendID(c.out, snowfence.ID(r.High))
	}
}
