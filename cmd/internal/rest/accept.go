package rest

import (
	"net/http"
	"strconv"
	"strings"
)

// prefersText reports whether a client would rather have lines of text than JSON: by the
// q-values of its Accept headers, and JSON where it does not care.
func prefersText(h http.Header) bool {
	accept := h["Accept"]
	if len(accept) == 0 {
		return false
	}
	text, json := quality(accept, "text", "plain"), quality(accept, "application", "json")
	return text > json
}

// quality returns how much a client wants a media type, by the most specific of its
// ranges (RFC 9110, 12.5.1). Parameters of ranges other than q are passed over.
func quality(accept []string, kind, sub string) (q float64) {
	best := -1
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			k, s, ok := strings.Cut(strings.TrimSpace(name), "/")
			how := 0
			switch {
			case !ok:
				continue
			case strings.EqualFold(k, kind) && strings.EqualFold(s, sub):
				how = 2
			case strings.EqualFold(k, kind) && s == "*":
				how = 1
			case k == "*" && s == "*":
			default:
				continue
			}
			if how > best {
				best, q = how, weight(params)
			}
		}
	}
	return q
}

// weight reads q out of the parameters of a range; 1 where there is none, or none that can be read.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && v >= 0 && v <= 1 {
			return v
		}
	}
	return 1
}
