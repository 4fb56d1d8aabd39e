package move

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// Each kind of store moves to others and back, while programs use it: to
// each of four, or to PostgreSQL. Each mover dies at another write.
func TestMoveBetweenServers(t *testing.T) {
	n := 1
	all := []string{"SQLite", "PostgreSQL", "etcd", "Redis", "MariaDB", "Kubernetes", "DynamoDB", "S3"}
	for i, from := range all {
		for _, to := range all[:4] {
			if i >= 4 && to != "PostgreSQL" ||
				testing.Short() && from+to != "PostgreSQLetcd" && from+to != "SQLiteRedis" {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				s := newScene(t, kinds.New(t, kinds.Start(t, from).URL), kinds.New(t, kinds.Start(t, to).URL))
				if trial(s, n, n%ways); t.Failed() {
					t.Fatalf("the mover died at write %d", n)
				}
			})
			n += 2
		}
	}
}

// The commands of docs/operate/move.md work, in their order, on PostgreSQL
// and etcd.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operate/move.md")
	must(t, err)
	p, e := servers.StartPostgres(t), servers.StartEtcd(t)
	program := servers.Program(t, servers.Snowfence)
	dir := t.TempDir()
	var script strings.Builder
	script.WriteString("set -eux\nsnowfence() { " + program + " \"$@\"; }\n")
	n := 0
	for line := range strings.Lines(string(page)) {
		command := strings.TrimLeft(line, " ")
		if strings.HasPrefix(line, "    ") && strings.HasPrefix(command, "snowfence ") {
			n++
			script.WriteString(command)
		} else if strings.HasPrefix(line, "       export OLD=") {
			_, port, _ := strings.Cut(e.URL(), "http://")
			fmt.Fprintf(&script, "export OLD='%s' NEW='etcd://%s' OTHER=sqlite:%s/other.db\n",
				p.URL(p.NewDatabase(t)), port, dir)
			script.WriteString("snowfence new --store \"$OLD\"\n")
		}
	}
	if n < 8 {
		t.Fatalf("only %d commands", n)
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	tests.Run(t, c)
}
