package insql

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// TestMessagesOfMySQL checks that MySQL takes the texts of all errors: it
// allows 128 characters.
func TestMessagesOfMySQL(t *testing.T) {
	p := planOf(t, "snowfence")
	p.Table = "orders.id"
	text := tests.Must(MySQL(p))
	messages := regexp.MustCompile(`MESSAGE_TEXT = '(.*)';`).FindAllStringSubmatch(text, -1)
	if len(messages) < 8 {
		t.Errorf("%d messages", len(messages))
	}
	for _, m := range messages {
		if n := utf8.RuneCountInString(m[1]); n > 128 {
			t.Errorf("%d characters: %s", n, m[1])
		}
	}
}

// TestOnePositionForAll checks the plans that have no text for MariaDB and
// MySQL.
func TestOnePositionForAll(t *testing.T) {
	for why, p := range map[string]Plan{
		"only PostgreSQL has lanes": {Layout: snowfence.Default(), From: 1, Lanes: 4},
		"do not fit in 63 bits":     {Layout: planOf(t, "time=42,seq=22").Layout, From: 1, Lanes: 0},
		"is encrypted":              planOf(t, "randflake"),
	} {
		if text, err := MariaDB(p); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, %d bytes", why, err, len(text))
		}
	}
}

// TestNamesOfMySQL checks that names with quotes stay names, and that a
// trigger has a name that is allowed.
func TestNamesOfMySQL(t *testing.T) {
	p := planOf(t, "snowfence")
	p.Schema, p.Table = "a`b", "c`d."+strings.Repeat("é", 31)+".id"
	text := tests.Must(MariaDB(p))
	for _, want := range []string{
		"FUNCTION `a``b`.snowfence_next()",
		"CREATE TRIGGER `c``d`.`snowfence_" + strings.Repeat("é", 31) + ".id` BEFORE INSERT ON `c``d`.`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %s", want)
		}
	}
	seen := map[string]bool{}
	for _, column := range []string{"a", "b"} {
		for _, table := range []string{"t", "t_a", strings.Repeat("é", 63), strings.Repeat("é", 62) + "e"} {
			got := triggerName(table, column)
			if utf8.RuneCountInString(got) > 64 || !utf8.ValidString(got) || seen[got] {
				t.Errorf("%q", got)
			}
			seen[got] = true
		}
	}
}
