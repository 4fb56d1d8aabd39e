package dynamostore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/snowfence/snowfence/lease/store"
)

// identityKey is the key of the record that has a part of the identity as
// its nonce. No namespace can have its name.
var identityKey = store.Key{Namespace: "the identity"}

// ask returns who the store is, for all namespaces. Its time can be off by
// half a second and the duration of a request.
func (s *Store) ask(ctx context.Context) (store.Reply, error) {
	_, told, err := s.readAll(ctx, nil)
	return told, err
}

// knownIdentity returns the identity as it was read last.
func (s *Store) knownIdentity(ctx context.Context) (string, error) {
	if told := s.told.Load(); told != nil {
		return *told, nil
	}
	told, err := s.ask(ctx)
	return told.Identity, err
}

// readAll gets records and the identity, whose record it makes where there
// is none.
func (s *Store) readAll(
	ctx context.Context, keys []store.Key,
) (found map[store.Key]store.Record, told store.Reply, err error) {
	for {
		table, failed := "", error(nil)
		var wg sync.WaitGroup
		wg.Go(func() { table, told.Now, failed = s.describeTable(ctx) })
		found, err = s.getAll(ctx, append(slices.Clone(keys), identityKey))
		wg.Wait()
		if err = cmp.Or(failed, err); err != nil {
			return nil, store.Reply{}, err
		}
		if mark := found[identityKey].Nonce; mark != "" {
			told.Identity = table + "." + mark
			s.told.Store(&told.Identity)
			return found, told, nil
		}
		if s.looks {
			return nil, store.Reply{}, fmt.Errorf("dynamostore: table %q: no program has used it: %w", s.table,
				store.ErrReadOnly)
		}
		if err := s.writeMark(ctx, ""); err != nil && !errors.Is(err, store.ErrLost) {
			return nil, store.Reply{}, err
		}
	}
}

// Suspect implements [store.Store].
func (s *Store) Suspect(ctx context.Context, identity string) error {
	if s.looks {
		return fmt.Errorf("dynamostore: %w", store.ErrReadOnly)
	}
	found, told, err := s.readAll(ctx, nil)
	if err != nil || told.Identity != identity {
		return err
	}
	if err = s.writeMark(ctx, found[identityKey].Nonce); errors.Is(err, store.ErrLost) {
		return nil // another program was faster
	}
	return err
}

// describeTable returns the ID of the table, and the time. It refuses a
// table that other regions write.
func (s *Store) describeTable(ctx context.Context) (id string, now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out, err := s.api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table}, once)
	if err != nil {
		return "", now, s.explainError(err)
	}
	if n := len(out.Table.Replicas); n > 0 {
		return "", now, fmt.Errorf("dynamostore: table %q has replicas in %d regions, and writes of two regions "+
			"overwrite each other: use a table of one region", s.table, n)
	}
	if now, _ = middleware.GetServerTime(out.ResultMetadata); !now.IsZero() {
		now = now.Add(time.Second / 2)
	}
	return aws.ToString(out.Table.TableId), now, nil
}

// writeMark writes a new mark if the present one is old.
func (s *Store) writeMark(ctx context.Context, old string) error {
	return s.putRecord(ctx, store.Write{Old: old, New: store.Record{Key: identityKey, Nonce: rand.Text()}})
}
