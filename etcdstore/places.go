package etcdstore

import (
	"sync"

	"github.com/snowfence/snowfence/lease"
)

// placeCache remembers places of records, by key. It only saves reads: a swap compares the
// place with what is stored.
type placeCache struct {
	mu     sync.Mutex
	places map[lease.Key]place
}

// maxPlaces bounds the places in memory (150 bytes each): twice the nodes of the largest
// common layout.
const maxPlaces = 1 << 18

func (k *placeCache) add(rs []lease.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.places == nil || len(k.places)+len(rs) > maxPlaces {
		k.places = make(map[lease.Key]place, len(rs))
	}
	for _, r := range rs {
		if r.Nonce != "" {
			k.places[r.Key] = placeOf(r)
		}
	}
}

// of returns the place of the record that has a nonce.
func (k *placeCache) of(key lease.Key, nonce string) (place, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.places[key]
	return p, ok && p.nonce == nonce
}
