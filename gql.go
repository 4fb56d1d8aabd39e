package snowfence

import (
	"fmt"
	"io"
)

// MarshalGQL writes the decimal text as a GraphQL string, so that gqlgen accepts ID as a scalar.
func (id ID) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, `"`+id.String()+`"`) // errors are left to the writer, as gqlgen does
}

// UnmarshalGQL reads a decimal integer from a string or an integer.
func (id *ID) UnmarshalGQL(v any) error {
	switch v := v.(type) {
	case string:
		return unmarshal(id, v)
	case int:
		*id = ID(v)
	case int64:
		*id = ID(v)
	case fmt.Stringer: // json.Number, which variables have
		return unmarshal(id, v.String())
	default:
		return fmt.Errorf("%w: a GraphQL value of type %T; want a string or an integer", ErrInvalidID, v)
	}
	return nil
}
