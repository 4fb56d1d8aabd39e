package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"
)

// Explain adds what to do to the error of a file that cannot be read.
func Explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: correct the path, or make the file", err)
	case errors.Is(err, fs.ErrPermission):
		if file, ok := errors.AsType[*fs.PathError](err); ok {
			return fmt.Errorf("%w: the user who runs the server, %d, has to be able to read it: as root, chgrp "+
				"GROUP %s && chmod 640 %s, with a group of that user", err, os.Getuid(), file.Path, file.Path)
		}
	}
	return err
}

// explainListen says why the server cannot listen on an address, and what
// to do.
func explainListen(l listener, err error) error {
	_, socket := socketPath(l.address)
	switch {
	case socket && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %s: its folder is missing: make it: %w", l.name, l.address, err)
	case socket && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %s: this user may not write in its folder: take another one: %w", l.name, l.address, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: another program listens on %s: stop it (ss -ltnp names it), or give --%s another "+
			"port, 0 for any that is free: %w", l.name, l.address, l.name, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s is no address of this machine: give --%s one of its own, or 0.0.0.0 for all: %w",
			l.name, l.address, l.name, syscall.EADDRNOTAVAIL)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: this user may not listen on %s: give --%s a port from 1024 on: %w",
			l.name, l.address, l.name, err)
	case errors.As(err, new(*net.DNSError)):
		return fmt.Errorf("%s: %s: this machine does not know that name: give --%s an address: %w",
			l.name, l.address, l.name, err)
	}
	return fmt.Errorf("%s: %s: %w", l.name, l.address, err)
}

var (
	unknownField = regexp.MustCompile(`field (\S+) not found in type .*`)
	otherType    = regexp.MustCompile(`cannot unmarshal .*`)
)

// ExplainTokens returns the mistake in a list of tokens, in words of the
// file and not of the program. It shows no value: a token may stand where
// its hash belongs.
func ExplainTokens(err error) error {
	var types *yaml.TypeError
	if !errors.As(err, &types) {
		return err
	}
	lines := make([]string, len(types.Errors))
	for i, line := range types.Errors {
		line = unknownField.ReplaceAllString(line, "there is no $1: a token has name, sha256 or certificate, "+
			"namespaces, verbs, rate, burst, nodes and until")
		lines[i] = otherType.ReplaceAllString(line, `this does not belong here: write tokens as "snowfence token new NAME" prints them`)
	}
	return errors.New(strings.Join(lines, "; "))
}
