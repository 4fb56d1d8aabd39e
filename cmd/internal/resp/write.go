package resp

import (
	"strconv"

	"github.com/snowfence/snowfence"
)

// Replies are appended to a buffer. Those that differ between the versions
// of the protocol take the version.

// version is the version of the protocol, 2 or 3.
type version int

func appendInt(b []byte, n int64) []byte {
	b = append(b, ':')
	b = strconv.AppendInt(b, n, 10)
	return append(b, '\r', '\n')
}

func appendSimple(b []byte, s string) []byte {
	b = append(b, '+')
	b = append(b, s...)
	return append(b, '\r', '\n')
}

func appendBulk[T string | []byte](b []byte, s T) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, '\r', '\n')
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// appendID appends an ID as a bulk string. An integer would be shorter, but
// clients in languages with floats as numbers round it.
func appendID(b []byte, id snowfence.ID) []byte {
	at := len(b)
	b = append(b, "$19\r\n"...) // what most IDs are; the length is set right afterwards where it is another
	b = snowfence.Decimal.Append(b, id)
	if n := len(b) - at - 5; n != 19 {
		if n < 10 { // one digit less in front
			copy(b[at+2:], b[at+3:])
			b = b[:len(b)-1]
			b[at+1] = byte('0' + n)
		} else {
			b[at+1], b[at+2] = byte('0'+n/10), byte('0'+n%10)
		}
	}
	return append(b, '\r', '\n')
}

// appendMap begins a map of n pairs: a list of twice as many in version 2.
func appendMap(b []byte, n int, proto version) []byte {
	if proto < 3 {
		return appendArray(b, 2*n)
	}
	b = append(b, '%')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

func appendArray(b []byte, n int) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

func appendNull(b []byte, proto version) []byte {
	if proto < 3 {
		return append(b, "$-1\r\n"...)
	}
	return append(b, "_\r\n"...)
}

// appendError appends an error reply, on one line whatever the text is.
func appendError(b []byte, code, text string) []byte {
	b = append(b, '-')
	b = append(b, code...)
	b = append(b, ' ')
	for _, c := range []byte(text) {
		if c < ' ' {
			c = ' '
		}
		b = append(b, c)
	}
	return append(b, '\r', '\n')
}
