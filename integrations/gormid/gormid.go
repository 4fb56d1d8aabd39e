// Package gormid fills the keys of GORM models with new IDs.
//
//	type Order struct {
//		ID snowfence.ID `gorm:"primaryKey;autoIncrement:false"`
//	}
//
//	err := db.Use(gormid.New(ids.Next))
//
// Without it, GORM leaves out a key that is zero, and the database inserts
// 1, 2, 3 of a column that counts by itself.
package gormid

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowfence/snowfence"
)

type plugin struct {
	next func(context.Context) (snowfence.ID, error)
}

// New returns a plugin for [gorm.DB.Use]. When rows are created, it sets
// their keys that are zero to the results of next, usually the Next of a
// generator. If next fails, nothing is written, and the statement returns
// the error.
//
// A key is the only primary key of a model, if its type is [snowfence.ID]
// or [public.ID], or is an int64, uint64 or string without a default of the
// database. A string is left to a hook BeforeCreate or BeforeSave of the
// model. The tag `gorm:"snowfence"` adds other fields, such as a part of a
// composite key.
func New(next func(context.Context) (snowfence.ID, error)) gorm.Plugin { return &plugin{next} }

func (p *plugin) Name() string { return "snowfence" }

// Initialize registers the plugin before the transaction, so that none is
// open while next waits.
func (p *plugin) Initialize(db *gorm.DB) error {
	if p.next == nil {
		return errors.New("gormid: no source of IDs: give New the Next of a generator")
	}
	return db.Callback().Create().Before("gorm:begin_transaction").Register("snowfence:fill", p.fill)
}

func (p *plugin) fill(db *gorm.DB) {
	if db.Error != nil || db.Statement.Schema == nil {
		return
	}
	columns, restricted := db.Statement.SelectAndOmitColumns(true, false)
	for _, key := range keys(db.Statement.Schema) {
		wanted, named := columns[key.DBName]
		if named && !wanted {
			continue // left out by the caller: the database's default counts
		}
		made, err := p.fillKey(db.Statement, key)
		if err != nil {
			_ = db.AddError(fmt.Errorf("gormid: no ID for %s of %s: %w", key.Name, db.Statement.Schema.Name, err))
			return
		}
		if made && restricted && !named {
			db.Statement.Selects = append(slices.Clip(db.Statement.Selects), key.DBName)
		}
		if made && key.PrimaryKey {
			readBack(db, key)
		}
	}
}

// keys returns the fields that get IDs.
func keys(s *schema.Schema) (out []*schema.Field) {
	for _, f := range s.Fields {
		_, tagged := f.TagSettings["SNOWFENCE"]
		alone := f.PrimaryKey && len(s.PrimaryFields) == 1
		if f.DBName != "" && (tagged || alone && (ours(f.FieldType) || plain(s, f))) {
			out = append(out, f)
		}
	}
	return out
}

// ours reports whether a type is a snowfence.ID or a public.ID.
func ours(t reflect.Type) bool {
	home := reflect.TypeFor[snowfence.ID]().PkgPath()
	return t.Kind() == reflect.Int64 && (t.PkgPath() == home || t.PkgPath() == home+"/public")
}

// plain reports whether a key has room for IDs, and nobody else fills it.
func plain(s *schema.Schema, f *schema.Field) bool {
	hooked := f.FieldType.Kind() == reflect.String && (s.BeforeCreate || s.BeforeSave)
	return !f.HasDefaultValue && !scans(f.FieldType) && f.FieldType.Kind() != reflect.Pointer && !hooked && hasRoom(f)
}

func scans(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[sql.Scanner]())
}

// hasRoom reports whether a field takes whole IDs.
func hasRoom(f *schema.Field) bool {
	switch f.IndirectFieldType.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return f.Size == 64
	case reflect.String:
		return true
	}
	return scans(f.IndirectFieldType)
}

// nextID returns an ID for a field. GORM cuts one off in an int32.
func (p *plugin) nextID(stmt *gorm.Statement, key *schema.Field) (snowfence.ID, error) {
	if !hasRoom(key) {
		return 0, fmt.Errorf("a %v has no room for 64 bits: make it an int64, uint64 or string", key.FieldType)
	}
	return p.next(stmt.Context)
}

// fillKey fills one key of all rows of a statement, and reports whether one
// was zero.
func (p *plugin) fillKey(stmt *gorm.Statement, key *schema.Field) (made bool, err error) {
	set := func(row map[string]any) {
		if row != nil && err == nil {
			err = p.fillMap(stmt, row, key)
		}
	}
	switch rows := stmt.Dest.(type) {
	case map[string]any:
		set(rows)
		return true, err
	case *map[string]any:
		set(*rows)
		return true, err
	case []map[string]any:
		for _, row := range rows {
			set(row)
		}
		return true, err
	case *[]map[string]any:
		for _, row := range *rows {
			set(row)
		}
		return true, err
	}
	switch rows := stmt.ReflectValue; rows.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range rows.Len() {
			filled, err := p.fillStruct(stmt, rows.Index(i), key)
			if err != nil {
				return made, err
			}
			made = made || filled
		}
	case reflect.Struct:
		return p.fillStruct(stmt, rows, key)
	}
	return made, nil
}

func (p *plugin) fillStruct(stmt *gorm.Statement, row reflect.Value, key *schema.Field) (bool, error) {
	row = reflect.Indirect(row)
	if row.Kind() != reflect.Struct {
		return false, nil // a nil row, which GORM refuses
	}
	if _, zero := key.ValueOf(stmt.Context, row); !zero {
		return false, nil
	}
	if !row.CanAddr() {
		return false, errors.New("the row cannot be changed: pass a pointer to it")
	}
	id, err := p.nextID(stmt, key)
	if err != nil {
		return false, err
	}
	return true, key.Set(stmt.Context, row, int64(id))
}

// fillMap writes the ID into the caller's map, as GORM does with keys that
// the database made.
func (p *plugin) fillMap(stmt *gorm.Statement, row map[string]any, key *schema.Field) error {
	name := key.DBName
	for _, given := range []string{key.Name, key.DBName} {
		if value, ok := row[given]; ok {
			if v := reflect.ValueOf(value); v.IsValid() && !v.IsZero() {
				return nil
			}
			name = given
		}
	}
	id, err := p.nextID(stmt, key)
	if err != nil {
		return err
	}
	row[name] = id
	if key.FieldType.Kind() == reflect.String {
		row[name] = id.String()
	}
	return nil
}

// readBack asks the database for the keys of the rows: an upsert of a row
// that was there keeps its key. With a condition, rows are missing from the
// answer, and GORM would give keys to the wrong ones.
func readBack(db *gorm.DB, key *schema.Field) {
	stmt := db.Statement
	upsert, ok := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	_, asked := stmt.Clauses["RETURNING"]
	switch {
	case !ok, asked, upsert.DoNothing, len(upsert.Where.Exprs) > 0:
		return
	case !slices.Contains(db.Callback().Create().Clauses, "RETURNING"):
		return // MySQL has none
	}
	switch reflect.Indirect(reflect.ValueOf(stmt.Dest)).Kind() {
	case reflect.Slice, reflect.Array, reflect.Struct:
	default:
		return
	}
	columns := []clause.Column{{Name: key.DBName}}
	for _, f := range stmt.Schema.FieldsWithDefaultDBValue {
		if f.Readable && f != key {
			columns = append(columns, clause.Column{Name: f.DBName})
		}
	}
	stmt.AddClause(clause.Returning{Columns: columns})
}
