package servers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Ask sends a request over HTTP with headers, "Name: value", and returns
// the status and the text of the answer. A status that is no success is an
// error, too. Without an answer it is 0.
func Ask(ctx context.Context, c *http.Client, method, url, body string, headers ...string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return res.StatusCode, string(text), err
}

// Get is [Ask] for what is at a URL.
func Get(ctx context.Context, url string, headers ...string) (string, error) {
	_, text, err := Ask(ctx, http.DefaultClient, http.MethodGet, url, "", headers...)
	return text, err
}

var word = regexp.MustCompile(`'[^']*'|\S+`)

// Curl sends the request that the program of this name does with these
// arguments, which are -H, -d, -X and an address. It returns the answer,
// also of a request that was refused.
func Curl(ctx context.Context, arguments string, headers ...string) (string, error) {
	var method, url, body string
	words := word.FindAllString(arguments, -1)
	for i := 0; i < len(words); i++ {
		arg := strings.Trim(words[i], "'")
		if !strings.HasPrefix(arg, "-") {
			url = arg
			continue
		}
		i++
		switch value := strings.Trim(words[i], "'"); arg {
		case "-X":
			method = value
		case "-d":
			body = value
		case "-H":
			headers = append(headers, value)
		default:
			return "", fmt.Errorf("the test does not know %s", arg)
		}
	}
	if method == "" && body != "" {
		method = http.MethodPost
	}
	status, text, err := Ask(ctx, http.DefaultClient, method, url, body, headers...)
	if status != 0 {
		err = nil
	}
	return text, err
}
