package open

import (
	"fmt"
	"os"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Secret reads the file of a secret. Errors do not show its content.
func Secret(path string) (*snowfence.Secret, error) {
	const most = 1024
	info, err := os.Stat(path)
	if err == nil && info.Size() > most {
		err = fmt.Errorf("it has %d bytes, too many for a secret", info.Size())
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	return snowfence.ParseSecret(data)
}

// Servers returns the URLs of servers that stand in place of the URL of a
// store, with commas between them; nil for a store.
func Servers(url string) []string {
	for _, scheme := range [...]string{"unix:", "http:", "https:"} {
		if strings.HasPrefix(url, scheme) {
			return strings.Split(url, ",")
		}
	}
	return nil
}

// Over returns what stands for the store of a server over the servers of a
// URL.
func Over(url string, st store.Store, done func() error) *Store {
	return &Store{Leases: st, Name: url, close: done}
}
