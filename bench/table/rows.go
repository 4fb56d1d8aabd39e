package main

// A row of the table. Rows without a name are headings.
type row struct {
	name   string // in the benchmark's name
	title  string
	module string // whose version is told; empty for the standard library and ourselves
}

var rows = []row{
	{title: "**bare limits**"},
	{name: "add", title: "atomic add"},
	{name: "cas", title: "load and compare-and-swap"},
	{name: "mutex", title: "mutex around an increment"},
	{name: "now", title: "time.Now"},
	{name: "since", title: "time.Since"},
	{name: "loop", title: "loop that stores 1024 uint64"},
	{name: "unrolled", title: "the same loop unrolled"},
	{title: "**Snowfence**"},
	{name: "exact", title: "Next, exact time"},
	{name: "coarse", title: "Next, coarse time"},
	{name: "local", title: "handle (Local), coarse time"},
	{name: "exactlocal", title: "handle (Local), exact time"},
	{name: "fill", title: "Fill of 1024"},
	{name: "randexact", title: "encrypted (Randflake), exact time"},
	{name: "randcoarse", title: "encrypted, coarse time"},
	{name: "randfill", title: "encrypted, Fill of 1024"},
	{title: "**64-bit, time and node**"},
	{name: "bwmarrin", title: "bwmarrin/snowflake", module: "github.com/bwmarrin/snowflake"},
	{name: "sonyflake1", title: "sony/sonyflake", module: "github.com/sony/sonyflake"},
	{name: "sonyflake2", title: "sony/sonyflake/v2", module: "github.com/sony/sonyflake/v2"},
	{name: "yitter", title: "yitter/idgenerator-go", module: "github.com/yitter/idgenerator-go"},
	{name: "randflake", title: "gosuda.org/randflake", module: "gosuda.org/randflake"},
	{name: "idutil", title: "etcd pkg/v3/idutil", module: "go.etcd.io/etcd/pkg/v3"},
	{name: "wuid", title: "edwingeng/wuid", module: "github.com/edwingeng/wuid"},
	{title: "**64-bit, random**"},
	{name: "rand", title: "math/rand/v2 Uint64"},
	{title: "**96 to 160 bits**"},
	{name: "xid", title: "rs/xid", module: "github.com/rs/xid"},
	{name: "ulid", title: "oklog/ulid/v2", module: "github.com/oklog/ulid/v2"},
	{name: "uuid4", title: "google/uuid v4", module: "github.com/google/uuid"},
	{name: "uuid7", title: "google/uuid v7", module: "github.com/google/uuid"},
	{name: "ksuid", title: "segmentio/ksuid", module: "github.com/segmentio/ksuid"},
}

// A target is what an ID may cost at most: a multiple of another row, or nanoseconds
// where there is none.
type target struct {
	limit      float64
	of         string // name of the row that limit multiplies, empty for nanoseconds
	ofTitle    string
	goroutines int // of that row
}

// targets of our own rows, with one goroutine and with two. They are ratios within one
// run, so that they say the same on a slower machine. Two handles share nothing, so that
// two cores make twice as many IDs; since no measurement is exact, 5 % is granted there.
var targets = map[string][2]*target{
	"exact": {
		{limit: 1.3, of: "since", ofTitle: "time.Since", goroutines: 1},
		{limit: 50},
	},
	"coarse": {
		{limit: 1.6, of: "add", ofTitle: "add", goroutines: 1},
		{limit: 1.4, of: "add", ofTitle: "contended add", goroutines: 2},
	},
	"local": {
		{limit: 0.45, of: "add", ofTitle: "add", goroutines: 1},
		{limit: 0.525, of: "local", ofTitle: "one handle", goroutines: 1},
	},
	"fill": {
		{limit: 0.9, of: "loop", ofTitle: "loop", goroutines: 1},
		nil,
	},
	// Of the encrypted ones in nanoseconds, with AVX-512; other CPUs have others.
	"randexact":  {{limit: 42}, nil},
	"randcoarse": {{limit: 20}, nil},
	"randfill":   {{limit: 1.5}, nil},
}
