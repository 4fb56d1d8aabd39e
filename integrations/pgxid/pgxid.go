// Package pgxid lets pgx write IDs into columns of text, as decimal
// numbers. Columns of type bigint need nothing of it.
package pgxid

import (
	"reflect"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowfence/snowfence"
)

// Register teaches a connection to write [snowfence.ID] and [public.ID]
// into bigint and text columns. Scan reads both. Call it for each
// connection:
//
//	config.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
//		pgxid.Register(c.TypeMap())
//		return nil
//	}
func Register(m *pgtype.Map) {
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrap}, m.TryWrapEncodePlanFuncs...)
}

var home = reflect.TypeFor[snowfence.ID]().PkgPath()

func wrap(value any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
	t := reflect.TypeOf(value)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Int64 || t.PkgPath() != home && t.PkgPath() != home+"/public" {
		return nil, nil, false
	}
	return &plan{}, number(0), true
}

// plan hands a number to the codec of the column. pgx writes nil pointers
// by itself.
type plan struct{ next pgtype.EncodePlan }

func (p *plan) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *plan) Encode(value any, buf []byte) ([]byte, error) {
	return p.next.Encode(number(reflect.Indirect(reflect.ValueOf(value)).Int()), buf)
}

// number is an ID to the codecs of bigint and text.
type number int64

func (n number) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: int64(n), Valid: true}, nil
}

func (n number) TextValue() (pgtype.Text, error) {
	return pgtype.Text{String: strconv.FormatInt(int64(n), 10), Valid: true}, nil
}
