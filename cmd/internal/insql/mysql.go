package insql

import (
	_ "embed"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed mysql.sql
var mysqlText string

//go:embed mysql_tag.sql
var mysqlTag string

//go:embed mysql_trigger.sql
var mysqlTrigger string

const (
	// A dump that is put back makes the table again, and sets the counter
	// back.
	mysqlServer = `CONCAT(@@server_id, /*!80000 ':', @@server_uuid, */ ' ', (SELECT UNIX_TIMESTAMP(create_time)
      FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowfence_position'))`
)

// MariaDB returns the SQL for MariaDB 10.6 and later. It may be run again:
// the position stays.
func MariaDB(p Plan) (string, error) { return mysql(p, true) }

// MySQL returns the SQL for MySQL 8.0 and later. It differs from that for
// MariaDB only in the trigger, and was tested only there.
func MySQL(p Plan) (string, error) { return mysql(p, false) }

func mysql(p Plan, returning bool) (string, error) {
	if p.Lanes != 0 {
		return "", fmt.Errorf("%w: only PostgreSQL has lanes: leave them out", ErrPlan)
	}
	n, err := p.workOut()
	if err != nil {
		return "", err
	}
	// There is one position for all transactions.
	if hi, lo := bits.Mul64(uint64(n.MaxTick)+1, uint64(n.Count)); hi > 0 || lo > math.MaxInt64 {
		return "", fmt.Errorf("%w: %d ticks of %d numbers do not fit in 63 bits: take a layout with fewer", ErrPlan,
			n.MaxTick+1, n.Count)
	}
	schema := ""
	if n.Schema != "" {
		schema = quoted("`", n.Schema) + "."
	}
	v := n.textValues()
	v["Start"], v["MaxWaitTicks"] = (n.From+1)*n.Count-1, n.MaxWaitUS/n.Tick
	v["Schema"], v["Server"] = schema, mysqlServer
	v["Parts"] = n.nodeParts("(id >> %d & %d) << %d", "0")
	v["Sequence"] = n.sequencePart("id >> %d & %d", "0")
	v["Tag"], v["TagPart"] = n.tag(mysqlTag, schema), n.tag(",\n    'tag', id >> {{Shift}} & {{Mask}}", "")
	v["Foreign"] = ""
	if n.Width < 64 {
		v["Foreign"] = fmt.Sprintf("  IF id >> %d <> 0 THEN\n    RETURN NULL;\n  END IF;\n", n.Width)
	}
	v["Until"] = "  RETURN " + schema + "snowfence_from(t);"
	if n.Half > 0 {
		v["Until"] = fmt.Sprintf(`  -- The tick from which IDs are negative ends those that are not.
  DECLARE id BIGINT DEFAULT %ssnowfence_from(t);
  RETURN IF(id = CAST(%d << %d AS SIGNED), 9223372036854775807, id);`, schema, n.Half, n.TimeShift)
	}
	v["Check"], v["Trigger"] = n.columnTrigger(schema, returning)
	return v.fillText(mysqlText), nil
}

// mysqlCheck refuses a column that would refuse or round the IDs.
const mysqlCheck = `  IF EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = {{Database}} AND table_name = {{TableText}}
      AND column_name = {{ColumnText}} AND (numeric_precision < 19 OR data_type = 'double')) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the column is narrower than an ID: first ALTER TABLE … MODIFY it to BIGINT';
  END IF;
`

// columnTrigger gives a column its IDs, after a check. MariaDB has INSERT …
// RETURNING.
func (n numbers) columnTrigger(schema string, returning bool) (check, trigger string) {
	if n.Column == "" {
		return "", ""
	}
	text := func(name string) string { return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(name) + "'" }
	last := len(n.Table) - 1
	v := values{
		"Comment": comment(n.Column), "Returning": "", "Schema": schema,
		"Table": quoted("`", n.Table...), "Column": quoted("`", n.Column),
		"Trigger": quoted("`", append(slices.Clone(n.Table[:last]), triggerName(n.Table[last], n.Column))...),
	}
	v["TableText"], v["ColumnText"], v["Database"] = text(n.Table[last]), text(n.Column), "@snowfence_db"
	if last > 0 {
		v["Database"] = text(n.Table[0])
	}
	if returning {
		v["Returning"] = "INSERT … RETURNING or "
	}
	return v.fillText(mysqlCheck), v.fillText(mysqlTrigger)
}

// triggerName names the trigger of a column, in the 64 characters that
// MySQL allows. A long name has a sum in place of its end.
func triggerName(table, column string) string {
	name := "snowfence_" + table + "." + column
	if utf8.RuneCountInString(name) <= 64 {
		return name
	}
	return fmt.Sprintf("%s.%08x", string([]rune(name)[:55]), crc32.ChecksumIEEE([]byte(name)))
}
