package serve

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Notifier tells systemd how the service is, by the protocol of sd_notify(3): datagrams
// to the socket that NOTIFY_SOCKET names. A nil Notifier tells nobody. Safe for
// concurrent use.
type Notifier struct {
	socket   string
	Watchdog time.Duration // how often systemd wants to hear that the service is alive, at the latest; 0 means never
}

// NewNotifier returns the notifier of an environment; nil outside of systemd, or where it
// does not want to be told.
func NewNotifier(env func(name string) string) (*Notifier, error) {
	socket := env("NOTIFY_SOCKET")
	if socket == "" {
		return nil, nil
	}
	if !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") {
		return nil, fmt.Errorf("NOTIFY_SOCKET %q is neither a path nor the name of an abstract socket", socket)
	}
	n := &Notifier{socket: socket}
	if text := env("WATCHDOG_USEC"); text != "" {
		us, err := strconv.ParseInt(text, 10, 64)
		if err != nil || us <= 0 {
			return nil, fmt.Errorf("WATCHDOG_USEC %q is not a number of microseconds", text)
		}
		if pid := env("WATCHDOG_PID"); pid == "" || pid == strconv.Itoa(os.Getpid()) {
			n.Watchdog = time.Duration(us) * time.Microsecond
		}
	}
	return n, nil
}

// Notify sends states such as READY=1.
func (n *Notifier) Notify(states ...string) error {
	if n == nil {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(strings.Join(states, "\n"))); err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	return nil
}
