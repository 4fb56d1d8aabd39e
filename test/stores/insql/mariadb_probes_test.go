package insql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// failing returns nil if a call fails with a text.
func failing(err error, text string) error {
	if err == nil || !strings.Contains(err.Error(), text) {
		return fmt.Errorf("got error %w, want one with %q", err, text)
	}
	return nil
}

// run runs statements on a new connection.
func (b mariadbBase) run(statements ...string) error {
	return b.with(func(ctx context.Context, c *sql.Conn) error {
		for _, s := range statements {
			if _, err := c.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
}

var mariadbProbes = []probe[mariadbBase]{
	{"unique", nil, unique},
	{"stalled", []string{"--layout", "time=34,node=10,seq=12,tick=10s"}, stalled},
	{"sixteen first calls at once", nil, firstCalls},
	{"fields", nil, fields("snowfence")},
	{
		"numbers left out",
		[]string{"--layout", "time=41,node=10,seq=8,first=5,last=99"},
		fields("time=41,node=10,seq=8,first=5,last=99"),
	},
	{
		"parts around the sequence",
		[]string{"--layout", "time=39,shard=6,seq=8,node=10,epoch=2020-01-01,tick=10ms"},
		fields("time=39,shard=6,seq=8,node=10,epoch=2020-01-01,tick=10ms"),
	},
	{"64 bits", []string{"--layout", "instagram"}, fields("instagram")},
	{"both ways", nil, bothWays("snowfence")},
	{
		"both ways, parts",
		[]string{"--layout", "time=39,shard=6,seq=8,node=10,epoch=2020-01-01,tick=10ms"},
		bothWays("time=39,shard=6,seq=8,node=10,epoch=2020-01-01,tick=10ms"),
	},
	{"both ways, 62 bits", []string{"--layout", "time=40,node=10,seq=12"}, bothWays("time=40,node=10,seq=12")},
	{"both ways, 64 bits", []string{"--layout", "instagram"}, bothWays("instagram")},
	{"both ways, tag", []string{"--layout", tagged}, bothWays(tagged)},
	{"tag", []string{"--layout", tagged}, tags},
	{"trigger", nil, trigger},
	{"even", nil, even},
	{"ahead", []string{"--layout", "time=38,node=10,seq=2,tick=10ms", "--lead", "5"}, ahead},
	{"too far ahead", []string{"--layout", "time=36,node=10,seq=2", "--lead", "3", "--max-wait", "100ms"}, tooFar},
	{"another server", nil, anotherServer},
	{"data put back", nil, putBack},
	{"numbers of a session", nil, sessionNumbers},
	{"printed again", nil, again},
	{"increment", nil, increment},
	{"time of the session", nil, session},
}
