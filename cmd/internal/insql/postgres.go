package insql

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed postgres.sql
var postgresText string

//go:embed postgres_rights.sql
var postgresRights string

//go:embed postgres_check.sql
var postgresCheck string

//go:embed postgres_tag.sql
var postgresTag string

//go:embed postgres_default.sql
var postgresDefault string

// Postgres returns the SQL for PostgreSQL 12 and later. It may be run
// again: positions stay, and other lanes begin above the old ones.
func Postgres(p Plan) (string, error) {
	p.Schema = cmp.Or(p.Schema, "public")
	n, err := p.workOut()
	if err != nil {
		return "", err
	}
	schema := quoted(`"`, n.Schema)
	v := n.textValues()
	v["Schema"], v["InText"] = schema, strings.ReplaceAll(schema, "'", "''")
	v["Lanes"], v["Per"], v["From"], v["MaxWaitUS"] = n.Lanes, n.Per, n.From, n.MaxWaitUS
	v["Parts"] = n.nodeParts("((id >> %d) & %d) << %d", "0::bigint")
	v["Sequence"] = n.sequencePart("(id >> %d) & %d", "0::bigint")
	v["Where"] = n.widthCondition()
	v["Tag"], v["TagPart"] = n.tag(postgresTag, schema), n.tag(",\n    (id >> {{Shift}}) & {{Mask}}", "")
	v["TagColumn"] = n.tag(", tag bigint", "")
	v["Until"] = "  SELECT " + schema + ".snowfence_from(t)"
	if n.Half > 0 {
		v["Until"] = fmt.Sprintf(`  -- The tick from which IDs are negative ends those that are not.
  SELECT CASE WHEN i = %d::bigint << %d THEN 9223372036854775807 ELSE i END FROM (SELECT %s.snowfence_from(t) AS i) x`,
			n.Half, n.TimeShift, schema)
	}
	v["Rights"], v["Check"], v["Create"], v["Default"] = postgresRights, "", "", ""
	if n.Schema != "public" {
		v["Create"] = "CREATE SCHEMA IF NOT EXISTS " + schema + ";\n"
	}
	if n.Column != "" {
		table := quoted(`"`, n.Table...)
		column := values{
			"Table": table, "Column": quoted(`"`, n.Column), "Schema": schema,
			"TableText": strings.ReplaceAll(table, "'", "''"), "ColumnText": strings.ReplaceAll(n.Column, "'", "''"),
			"ColumnNameText": strings.ReplaceAll(quoted(`"`, n.Column), "'", "''"),
		}
		v["Check"], v["Default"] = column.fillText(postgresCheck), column.fillText(postgresDefault)
	}
	return v.fillText(postgresText), nil
}
