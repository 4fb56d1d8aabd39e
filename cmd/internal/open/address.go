package open

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Hidden stands where a password was.
const Hidden = "xxxxx"

// address is the URL of a store on servers, taken apart. It is parsed here
// since net/url knows no lists of hosts, and quotes text that it does not
// understand: that may be a password.
type address struct {
	scheme      string
	user        string
	password    string
	hasPassword bool // the URL has a password

	passwordFile string // that the password is read from
	passwordFrom string // what names the file

	hosts   []string
	path    string // without the slash before it
	params  map[string]string
	looks   bool // nothing may be changed; see [Look]
	secrets secrets
}

var (
	validScheme = regexp.MustCompile(`^[a-z][a-z+]{0,31}$`)
	validHost   = regexp.MustCompile(`^(\[[0-9a-fA-F:.%a-z]+\]|[a-zA-Z0-9._-]+)(:[0-9]{1,5})?$`)
	validParam  = regexp.MustCompile(`^[a-zA-Z_-]{1,32}$`)
	secretParam = regexp.MustCompile(`(?i)(pass[a-z]*|pwd)$`)
)

// parseAddress takes a URL apart. Errors show nothing of it but its scheme,
// because a password may be anywhere in it.
func parseAddress(scheme, rest, port string) (*address, error) {
	a := &address{scheme: scheme, params: map[string]string{}}
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return nil, a.errorf("write %s://HOST/… with two slashes (snowfence help stores)", scheme)
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	if strings.ContainsAny(tail, "@#") {
		return nil, a.errorf("it has '@' or '#' behind its hosts: in a password write '/' as %%2F, '?' as %%3F, " +
			"'#' as %%23 and '@' as %%40, or keep it in SNOWFENCE_STORE_PASSWORD")
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if err := a.parseUser(authority[:i]); err != nil {
			return nil, err
		}
		authority = authority[i+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host == "" && authority == "" {
			break
		}
		if strings.HasPrefix(host, "%2F") && strings.HasPrefix(scheme, "postgres") {
			return nil, a.errorf("a host is a folder: write it as in %s:///DATABASE?host=/FOLDER", scheme)
		}
		if !validHost.MatchString(host) {
			return nil, a.errorf("a host is not HOST or HOST:PORT; in a password write '/' as %%2F, '?' as %%3F " +
				"and '@' as %%40")
		}
		if port != "" && !strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":") {
			host += ":" + port
		}
		a.hosts = append(a.hosts, host)
	}
	path, query, _ := strings.Cut(tail, "?")
	var err error
	if a.path, err = url.PathUnescape(strings.TrimPrefix(path, "/")); err != nil {
		return nil, a.errorf("what stands behind the hosts has a '%%' without two hexadecimal digits")
	}
	return a, a.parseQuery(query)
}

func (a *address) parseUser(text string) error {
	user, password, given := strings.Cut(text, ":")
	a.secrets.addSecret(password)
	var err1, err2 error
	a.user, err1 = url.PathUnescape(user)
	a.password, err2 = url.PathUnescape(password)
	a.hasPassword = given && password != ""
	a.secrets.addSecret(a.password)
	if err1 != nil || err2 != nil {
		return a.errorf("its user or password has a '%%' without two hexadecimal digits: write '%%' as %%25")
	}
	return nil
}

func (a *address) parseQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return a.errorf("a parameter has a '%%' without two hexadecimal digits, or a ';': write '%%' as %%25, and " +
			"';' as %%3B")
	}
	for name, list := range values {
		if len(list) > 1 {
			return a.errorf("a parameter is given twice")
		}
		if a.params[name] = list[0]; isSecret(name) {
			a.secrets.addSecret(list[0])
		}
	}
	return nil
}

// isSecret reports whether a parameter may hold a password, also by a slip:
// "??password=…".
func isSecret(param string) bool {
	return secretParam.MatchString(param) || !validParam.MatchString(param)
}

func (a *address) errorf(format string, args ...any) error {
	return fmt.Errorf("%w %s: %s", ErrURL, a.scheme+":…", a.secrets.hideIn(fmt.Sprintf(format, args...)))
}

// name is the URL without its passwords.
func (a *address) name() string {
	var b strings.Builder
	b.WriteString(a.scheme + "://")
	if a.user != "" || a.hasPassword {
		b.WriteString(url.User(a.user).String())
		if a.hasPassword {
			b.WriteString(":" + Hidden)
		}
		b.WriteByte('@')
	}
	b.WriteString(strings.Join(a.hosts, ","))
	if a.path != "" {
		b.WriteString("/" + strings.ReplaceAll(url.PathEscape(a.path), "%2F", "/"))
	}
	for i, name := range slices.Sorted(maps.Keys(a.params)) {
		value := readable.Replace(url.QueryEscape(a.params[name]))
		if isSecret(name) {
			value = Hidden
		}
		b.WriteString(map[bool]string{true: "?", false: "&"}[i == 0] + url.QueryEscape(name) + "=" + value)
	}
	return a.secrets.hideIn(b.String())
}

var readable = strings.NewReplacer("%2F", "/", "%3A", ":", "%2C", ",")

// serverParams reads the parameters of all servers, and refuses those that
// neither they nor this kind have.
func (a *address) serverParams(env func(string) string, own ...string) (timeout time.Duration, err error) {
	if err := a.rejectUnknown(append([]string{"password", "password_file", "connect_timeout"}, own...)...); err != nil {
		return 0, err
	}
	if err := a.findPassword(env); err != nil {
		return 0, err
	}
	return a.durationParam("connect_timeout", connectTimeout)
}

// rejectUnknown refuses parameters other than the known ones. Of a URL with
// a password among its parameters it does not quote them: they may be the
// text after an '&' in it.
func (a *address) rejectUnknown(known ...string) error {
	names := slices.Sorted(maps.Keys(a.params))
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		what := "it has a parameter that is not known"
		if validParam.MatchString(name) && !slices.ContainsFunc(names, secretParam.MatchString) {
			what = fmt.Sprintf("parameter %s is not known", name)
		}
		slices.Sort(known)
		return a.errorf("%s; %s stores have %s", what, a.scheme, strings.Join(known, ", "))
	}
	return nil
}

// durationParam returns a parameter that is a length of time.
func (a *address) durationParam(name string, otherwise time.Duration) (time.Duration, error) {
	text, ok := a.params[name]
	if !ok {
		return otherwise, nil
	}
	if _, err := strconv.Atoi(text); err == nil && strings.HasPrefix(a.scheme, "postgres") {
		text += "s" // as libpq has it
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > time.Hour {
		return 0, a.errorf("%s must be a time from 1ms to 1h, such as 5s", name)
	}
	return d, nil
}

// number has the limits of a parameter, and its default.
type number struct{ least, most, otherwise int }

// numberParam returns a parameter that is a number.
func (a *address) numberParam(name string, may number) (int, error) {
	text, ok := a.params[name]
	if !ok {
		return may.otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < may.least || n > may.most {
		return 0, a.errorf("%s is a number from %d to %d", name, may.least, may.most)
	}
	return n, nil
}

// flagParam returns a parameter that is yes or no.
func (a *address) flagParam(name string, otherwise bool) (bool, error) {
	switch a.params[name] {
	case "":
		return otherwise, nil
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	return false, a.errorf("%s is yes or no", name)
}
