package open

import (
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

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
