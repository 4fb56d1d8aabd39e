package snowfence

import (
	"fmt"
	"io"
)

// MarshalGQL writes the decimal text as a GraphQL string: gqlgen takes ID as a
// scalar by this.
func (id ID) MarshalGQL(w io.Writer) { writeGQL(w, id.String()) }

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

// MarshalGQL writes the text with its prefix as a GraphQL string.
func (t Typed[K]) MarshalGQL(w io.Writer) { writeGQL(w, t.String()) }

// UnmarshalGQL reads a string with the prefix of K, and no other.
func (t *Typed[K]) UnmarshalGQL(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%w: a GraphQL value of type %T; want a string", ErrInvalidID, v)
	}
	return t.UnmarshalText([]byte(text))
}

// writeGQL leaves errors to the writer, as gqlgen does. No text of an ID needs
// escapes.
func writeGQL(w io.Writer, text string) { _, _ = io.WriteString(w, `"`+text+`"`) }
