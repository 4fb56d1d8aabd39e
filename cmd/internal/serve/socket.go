package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
)

// maxPath is the most bytes of a path that every system takes, also with
// newSocket behind it.
const maxPath = 100 - len(newSocket)

// newSocket is behind the path of a socket until its mode is right.
const newSocket = ".new"

// socketListener is a socket that removes its file at its end.
type socketListener struct {
	net.Listener
	path string
	once sync.Once
}

// listenSocket listens on a socket for its user and group. It replaces the
// socket of a program that was killed.
func listenSocket(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is there, and is no socket: take another path", path)
	default:
		if c, err := net.Dial("unix", path); err == nil {
			return nil, errors.Join(fmt.Errorf("another program listens on %s: stop it, or take another path", path),
				c.Close())
		}
	}
	hidden := path + newSocket // no client connects before the mode is right
	if err := os.Remove(hidden); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	if err = os.Chmod(hidden, 0o660); err == nil {
		err = os.Rename(hidden, path)
	}
	if err != nil {
		return nil, errors.Join(err, ln.Close(), os.Remove(hidden))
	}
	return &socketListener{Listener: ln, path: path}, nil
}

// Close implements [net.Listener]. The file goes first: afterwards it may
// be a successor's.
func (s *socketListener) Close() (err error) {
	s.once.Do(func() { err = os.Remove(s.path) })
	return errors.Join(err, s.Listener.Close())
}

// Addr implements [net.Listener].
func (s *socketListener) Addr() net.Addr { return &net.UnixAddr{Name: "unix:" + s.path, Net: "unix"} }

// socketPath returns the path of an address as in unix:/run/ids.sock, and
// whether it is one.
func socketPath(address string) (string, bool) { return strings.CutPrefix(address, "unix:") }

// checkSocket returns the mistake in the path of a socket.
func checkSocket(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("socket %q: write its whole path, as in unix:/var/lib/snowfence/ids.sock", path)
	case len(path) > maxPath:
		return fmt.Errorf("socket %q: the path has %d bytes: take one of at most %d", path, len(path), maxPath)
	}
	return nil
}

// isLoopback reports whether only this machine reaches an address. The
// server resolves a name only when it listens.
func isLoopback(address string) (bool, error) {
	if path, ok := socketPath(address); ok {
		return true, checkSocket(path)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("address %q: write it as 127.0.0.1:8080: %w", address, err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, fmt.Errorf("address %q: %q is no port: write a number from 0 to 65535", address, port)
	}
	if host == "localhost" {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}
