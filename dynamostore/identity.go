package dynamostore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/snowfence/snowfence/lease/store"
)

// identityKey is the key of the record that has a part of the identity as
// its nonce. No namespace can have its name.
var identityKey = store.Key{Namespace: "the identity"}

// Identity implements [store.Store]: one for all namespaces. It takes two
// requests.
func (s *Store) Identity(ctx context.Context, _ string) (string, error) {
	for {
		id, mark, _, err := s.readIdentity(ctx)
		if err != nil || mark != "" {
			return id, err
		}
		if s.looks {
			return "", fmt.Errorf("dynamostore: table %q: no program has used it: %w", s.table, store.ErrReadOnly)
		}
		if err := s.writeMark(ctx, ""); err != nil && !errors.Is(err, store.ErrLost) {
			return "", err
		}
	}
}

// Suspect implements [store.Store].
func (s *Store) Suspect(ctx context.Context, identity string) error {
	if s.looks {
		return fmt.Errorf("dynamostore: %w", store.ErrReadOnly)
	}
	id, mark, _, err := s.readIdentity(ctx)
	if err != nil || id != identity {
		return err
	}
	if err = s.writeMark(ctx, mark); errors.Is(err, store.ErrLost) {
		return nil // another program was faster
	}
	return err
}

// Now implements [store.Store]. It can be off by half a second and the
// duration of a request.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	_, _, now, err := s.readIdentity(ctx)
	if err != nil || now.IsZero() {
		return time.Time{}, err
	}
	return now.Add(time.Second / 2), nil
}

// readIdentity reads the ID of the table, and the mark of its record, which
// is "" if there is none. It refuses a table that other regions write.
func (s *Store) readIdentity(ctx context.Context) (id, mark string, now time.Time, err error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out, err := s.api.DescribeTable(limited, &dynamodb.DescribeTableInput{TableName: &s.table}, once)
	if err != nil {
		return "", "", now, s.explainError(err)
	}
	if n := len(out.Table.Replicas); n > 0 {
		return "", "", now, fmt.Errorf("dynamostore: table %q has replicas in %d regions, and writes of two regions "+
			"overwrite each other: use a table of one region", s.table, n)
	}
	rs, err := s.Get(ctx, []store.Key{identityKey})
	if err != nil {
		return "", "", now, err
	}
	now, _ = middleware.GetServerTime(out.ResultMetadata)
	return aws.ToString(out.Table.TableId) + "." + rs[0].Nonce, rs[0].Nonce, now, nil
}

// writeMark writes a new mark if the present one is old.
func (s *Store) writeMark(ctx context.Context, old string) error {
	return s.putRecord(ctx, store.Write{Old: old, New: store.Record{Key: identityKey, Nonce: rand.Text()}})
}
