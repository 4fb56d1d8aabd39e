package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// queryParams returns the parameters of a request. Each has to be one of those named, once: a
// misspelled one that nobody looks at would be a request for something else.
func queryParams(r *http.Request, names ...string) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, server.Errorf(server.Invalid, "the query %s: %w", server.Clip(r.URL.RawQuery), err)
	}
	for name, values := range q {
		if !slices.Contains(names, name) {
			known := "none"
			if len(names) > 0 {
				known = strings.Join(names, ", ")
			}
			return nil, server.Errorf(server.Invalid, "there is no parameter %s here; known: %s",
				server.Clip(name), known)
		}
		if len(values) != 1 {
			return nil, server.Errorf(server.Invalid, "%s is given %d times", name, len(values))
		}
	}
	return q, nil
}

// formParams reads ?format=base58&prefix=ord, which are all that the request may have.
func formParams(r *http.Request) (server.Form, error) {
	q, err := queryParams(r, "format", "prefix")
	if err != nil {
		return server.Form{}, err
	}
	return server.ParseForm(q.Get("format"), q.Get("prefix"))
}

// intParam reads a parameter, or returns what it is when it is missing.
func intParam(q url.Values, name string, missing int64) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, server.Errorf(server.Invalid, "%s=%s is not a number", name, server.Clip(text))
	}
	return n, nil
}

// boolParam reads a parameter that is true or false, which it is when it is missing.
func boolParam(q url.Values, name string) (bool, error) {
	text := q.Get(name)
	if text == "" {
		return false, nil
	}
	is, err := strconv.ParseBool(text)
	if err != nil {
		return false, server.Errorf(server.Invalid, "%s=%s is neither true nor false", name, server.Clip(text))
	}
	return is, nil
}
