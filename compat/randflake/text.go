package randflake

import "github.com/snowfence/snowfence"

// Inspect returns the second, node and sequence number of an ID, for all 34
// years. Every number is an ID of some second, node and sequence number, so
// the result does not show that the ID was ever made.
func (g *Generator) Inspect(id int64) (timestamp, nodeID, sequence int64, err error) {
	if g.scheme == nil {
		return 0, 0, 0, ErrInvalidSecret
	}
	p, err := g.scheme.Decode(snowfence.ID(id))
	if err != nil {
		return 0, 0, 0, err
	}
	return p.Tick + RANDFLAKE_EPOCH_OFFSET, p.Node, p.Sequence, nil
}

// InspectString is Inspect for an ID as text, which [DecodeString] reads.
func (g *Generator) InspectString(id string) (timestamp, nodeID, sequence int64, err error) {
	n, err := DecodeString(id)
	if err != nil {
		return 0, 0, 0, err
	}
	return g.Inspect(n)
}

// EncodeString returns an ID as text: base 32 with the digits 0-9 a-v,
// without leading zeros.
func EncodeString(id int64) string { return snowfence.Base32Hex.Encode(snowfence.ID(id)) }

// DecodeString reads the text of an ID: 1 to 13 digits, in either case, of
// a number below 2^64. Everything else is an [ErrInvalidID]. The original
// accepts more: see [DecodeLenient]. Errors of [snowfence.Base32Hex] name
// the mistake and its place.
func DecodeString(s string) (int64, error) {
	id, err := snowfence.Base32Hex.Parse(s)
	if err != nil {
		return 0, ErrInvalidID
	}
	return int64(id), nil
}

// DecodeLenient reads text as the original does. It stops at a '=', reads
// an empty text as 0, and uses the last 64 bits of a longer text. So
// different texts can give the same ID.
func DecodeLenient(s string) (int64, error) {
	var n uint64
	for _, c := range s {
		switch {
		case c == '=':
			return int64(n), nil
		case c >= '0' && c <= '9':
			n = n<<5 + uint64(c-'0')
		case c >= 'a' && c <= 'v':
			n = n<<5 + uint64(c-'a'+10)
		case c >= 'A' && c <= 'V':
			n = n<<5 + uint64(c-'A'+10)
		default:
			return 0, ErrInvalidID
		}
	}
	return int64(n), nil
}
