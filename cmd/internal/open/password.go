package open

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
)

// The places of a store's password if its URL has none.
const (
	PasswordEnv     = "SNOWFENCE_STORE_PASSWORD"
	PasswordFileEnv = "SNOWFENCE_STORE_PASSWORD_FILE"
)

// findPassword takes the password from the URL, the file that it names, the
// environment, or the file that the environment names.
func (a *address) findPassword(env func(string) string) error {
	inURL, file := a.params["password"], a.params["password_file"]
	switch {
	case a.hasPassword && (inURL != "" || file != "") || inURL != "" && file != "":
		return a.errorf("it has more than one password: leave all but one of user:password@, password and " +
			"password_file out")
	case a.hasPassword:
		return nil
	case inURL != "":
		a.password = inURL
		return nil
	case file != "":
		a.passwordFile, a.passwordFrom = file, "password_file"
	case env(PasswordEnv) != "":
		a.password = env(PasswordEnv)
		a.secrets.addSecret(a.password)
		return nil
	case env(PasswordFileEnv) != "":
		a.passwordFile, a.passwordFrom = env(PasswordFileEnv), PasswordFileEnv
	}
	if a.passwordFile != "" {
		return a.readPassword(&a.password, a.passwordFile, a.passwordFrom)
	}
	return nil
}

// SecretFiles returns the files with passwords and keys that a URL and the
// environment name.
func SecretFiles(rawURL string, env func(string) string) (files []string) {
	p, err := parse(rawURL)
	if err != nil || p.address == nil {
		return nil
	}
	for _, name := range []string{"password_file", "sentinel_password_file", "tls_key", "sslkey"} {
		files = append(files, p.address.params[name])
	}
	files = append(files, env(PasswordFileEnv))
	return slices.DeleteFunc(files, func(name string) bool { return name == "" })
}

func (a *address) readPassword(to *string, path, from string) error {
	text, err := a.passwordIn(path, from)
	a.secrets.addSecret(text)
	*to = text
	return err
}

// currentPassword returns the password, from its file if it has one: that
// may have changed. It may be called at any time.
func (a *address) currentPassword() (string, error) {
	if a.passwordFile == "" {
		return a.password, nil
	}
	return a.passwordIn(a.passwordFile, a.passwordFrom)
}

// passwordIn returns the password in a file, which ends at the first end of
// line.
func (a *address) passwordIn(path, from string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("store %s: %s: %w", a.name(), from, err)
	}
	defer f.Close()
	const most = 4096
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", fmt.Errorf("store %s: %s: %w", a.name(), from, err)
	}
	text, _, _ := strings.Cut(string(data), "\n")
	if text = strings.TrimSuffix(text, "\r"); text == "" || len(data) > most {
		return "", fmt.Errorf("store %s: %s: %s holds no password: one line of at most %d bytes",
			a.name(), from, path, most)
	}
	return text, nil
}

// secrets are texts that are never shown.
type secrets struct{ texts []string }

// addSecret takes a text, in all forms in which it may come back. Texts of
// one or two characters cannot be told from others, and are no secrets.
func (s *secrets) addSecret(text string) {
	if len(text) < 3 {
		return
	}
	for _, form := range []string{
		text, url.QueryEscape(text), url.PathEscape(text),
		strings.TrimPrefix(url.UserPassword("", text).String(), ":"), fmt.Sprintf("%q", text),
	} {
		form = strings.Trim(form, `"`)
		if len(form) > 2 && !slices.Contains(s.texts, form) {
			s.texts = append(s.texts, form)
		}
	}
	// The longest first, because one may contain another.
	slices.SortFunc(s.texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
}

// hideIn returns a text without the secrets.
func (s secrets) hideIn(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, Hidden)
	}
	return text
}

// hiddenError is an error without secrets in its text. The wrapped error is
// there for errors.Is alone.
type hiddenError struct {
	err  error
	text string
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// wrapError says which store an error is of, without secrets.
func (a *address) wrapError(err error) error {
	if err == nil {
		return nil
	}
	text := fmt.Sprintf("store %s: %v", a.name(), err)
	for _, name := range []string{
		"sqlstore: ", "redisstore: ", "etcdstore: ", "kubestore: ", "dynamostore: ", "s3store: ",
	} {
		text = strings.ReplaceAll(text, name, "") // the URL says that
	}
	return &hiddenError{err, a.secrets.hideIn(strings.ReplaceAll(text, "\n\t", " "))}
}
