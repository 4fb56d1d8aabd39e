// Package dynamostore keeps leases in a table of Amazon DynamoDB: a
// [store.Store] with an item for each record.
//
//	config, err := config.LoadDefaultConfig(ctx)
//	ids, err := dynamostore.Open(ctx, dynamodb.NewFromConfig(config), "ids", nil)
//
// # Promises
//
// All reads are strongly consistent, and each write is a PutItem with a
// condition on the record that it replaces. So it is a compare-and-swap,
// and DynamoDB acknowledges it when it is durable in several zones. IDs are
// unique within one namespace of one table. While DynamoDB is unreachable,
// no lease is renewed: holders make IDs to the end of their grants.
//
// # Restores: seen and unseen
//
// The store's identity is the ID of the table, and the text of an item. A
// backup becomes another table when it is restored, so programs notice it,
// also if it gets the name of the one before. Do not write older items into
// a table; after that, run "snowfence store restored" before programs
// start.
//
// A table with replicas in other regions is refused: writes of two regions
// overwrite each other. A global table of version 2017.11.29 is refused
// when DynamoDB has marked its first item, soon after the first use.
//
// # Needs
//
// It needs a table with the text "namespace" as its partition key and the
// number "node" as its sort key, without a time to live. It needs the
// rights to BatchGetItem, PutItem, Query, Scan and DescribeTable.
package dynamostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Options says how leases are kept. A nil *Options uses the defaults.
type Options struct {
	// Timeout limits one request; 0 means 3 s. Keep it well below a third
	// of the ttl.
	Timeout time.Duration

	// ReadOnly makes the store change nothing. All methods fail if no
	// program has used the table.
	ReadOnly bool
}

// Store keeps leases in a table. It is safe for concurrent use.
type Store struct {
	store.Basic

	api     *dynamodb.Client
	table   string
	timeout time.Duration
	looks   bool                   // Options.ReadOnly
	told    atomic.Pointer[string] // the identity, as it was read last
}

// parallel is how many requests a batch has under way, and page how many
// keys DynamoDB gets at once.
const (
	parallel = 8
	page     = 100
)

// Open leases a node, and returns a generator on it. It makes the namespace
// "default" if it is missing. Closing the generator ends the lease. Nil
// options use the defaults.
func Open(ctx context.Context, c *dynamodb.Client, table string, o *lease.Options) (*snowfence.Generator, error) {
	st, err := New(c, table, nil)
	if err != nil {
		return nil, err
	}
	return lease.Generator(ctx, st, o)
}

// New returns a store. It does no I/O: errors of the table show at the
// first use. The client stays yours.
func New(c *dynamodb.Client, table string, o *Options) (*Store, error) {
	o = cmp.Or(o, &Options{})
	switch {
	case c == nil || table == "":
		return nil, errors.New("dynamostore: there is no client, or no name of a table")
	case o.Timeout < 0:
		return nil, fmt.Errorf("dynamostore: Options.Timeout is %v; it must be positive", o.Timeout)
	}
	return &Store{api: c, table: table, timeout: cmp.Or(o.Timeout, 3*time.Second), looks: o.ReadOnly}, nil
}

// Get implements [store.Store]. It gets the identity with the records.
func (s *Store) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	found, told, err := s.readAll(ctx, keys)
	if err != nil {
		return nil, told, err
	}
	out := make([]store.Record, len(keys))
	for i, k := range keys {
		out[i] = found[k]
	}
	return out, told, nil
}

// getAll gets records by their keys.
func (s *Store) getAll(ctx context.Context, keys []store.Key) (map[store.Key]store.Record, error) {
	found := make(map[store.Key]store.Record, len(keys))
	for _, k := range keys {
		found[k] = store.Record{Key: k}
	}
	var wanted []item
	for k := range found { // DynamoDB refuses a key that comes twice
		wanted = append(wanted, keyOf(k))
	}
	for part := range slices.Chunk(wanted, page) {
		if err := s.getPart(ctx, part, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// getPart gets a page of keys. DynamoDB may answer some and leave the
// others for another request.
func (s *Store) getPart(ctx context.Context, keys []item, found map[store.Key]store.Record) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	left := map[string]types.KeysAndAttributes{s.table: {Keys: keys, ConsistentRead: aws.Bool(true)}}
	for len(left) > 0 {
		out, err := s.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left}, once)
		if err != nil {
			return s.explainError(err)
		}
		for _, it := range out.Responses[s.table] {
			r, err := record(it)
			if err != nil {
				return err
			}
			found[r.Key] = r
		}
		left = out.UnprocessedKeys
	}
	return nil
}

// List implements [store.Store].
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (out []store.Record, told store.Reply, err error) {
	if nodes.From >= nodes.Until {
		return nil, told, nil
	}
	if told, err = s.ask(ctx); err != nil {
		return nil, told, err
	}
	q := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:   aws.String("#n = :namespace AND #k BETWEEN :from AND :last"),
		ExpressionAttributeNames: map[string]string{"#n": keyNamespace, "#k": keyNode},
		ExpressionAttributeValues: item{
			":namespace": text(namespace), ":from": number(nodes.From), ":last": number(nodes.Until - 1),
		},
	}
	for len(out) < limit {
		q.Limit = aws.Int32(int32(min(limit-len(out), 1000)))
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		p, err := s.api.Query(ctx, q, once)
		cancel()
		if err != nil {
			return nil, told, s.explainError(err)
		}
		if out, err = records(out, p.Items); err != nil || p.LastEvaluatedKey == nil {
			return out, told, err
		}
		q.ExclusiveStartKey = p.LastEvaluatedKey
	}
	return out, told, nil
}

// Heads implements [store.Store]. It reads the whole table.
func (s *Store) Heads(ctx context.Context) (out []store.Record, told store.Reply, err error) {
	if told, err = s.ask(ctx); err != nil {
		return nil, told, err
	}
	q := &dynamodb.ScanInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("#k IN (:a, :b)"),
		ExpressionAttributeNames:  map[string]string{"#k": keyNode},
		ExpressionAttributeValues: item{":a": number(store.NamespaceNode), ":b": number(store.SequenceNode)},
	}
	for {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		p, err := s.api.Scan(ctx, q, once)
		cancel()
		if err != nil {
			return nil, told, s.explainError(err)
		}
		if out, err = records(out, p.Items); err != nil {
			return nil, told, err
		}
		if q.ExclusiveStartKey = p.LastEvaluatedKey; q.ExclusiveStartKey == nil {
			break
		}
	}
	slices.SortFunc(out, func(a, b store.Record) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return out, told, nil
}

// Swap implements [store.Store]. Each write takes one request.
func (s *Store) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) (_ []error, _ []store.Record, told store.Reply) {
	errs := make([]error, len(writes))
	err := store.Check(writes)
	if s.looks {
		err = fmt.Errorf("dynamostore: %w", store.ErrReadOnly)
	}
	if err == nil {
		told.Identity, err = s.knownIdentity(ctx)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, w := range writes {
		if errs[i] = err; err != nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = s.putRecord(ctx, w)
			<-slots
		})
	}
	wg.Wait()
	return errs, nil, told
}

// once lets the client repeat nothing. A repeated write would find the
// first one, and take it for another's. Repeated reads would wait, and hide
// why the service refuses them.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// putRecord carries out one write.
func (s *Store) putRecord(ctx context.Context, w store.Write) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	in := &dynamodb.PutItemInput{
		TableName: &s.table, Item: keyOf(w.New.Key), ConditionExpression: aws.String("attribute_not_exists(#r)"),
		ExpressionAttributeNames: map[string]string{"#r": valueRecord},
	}
	in.Item[valueRecord] = text(store.Encode(w.New, ""))
	if w.Old != "" {
		in.ConditionExpression = aws.String("begins_with(#r, :old)")
		in.ExpressionAttributeValues = item{":old": text(store.Front(w.Old))}
	}
	_, err := s.api.PutItem(ctx, in, once)
	if refused := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &refused) {
		return store.ErrLost
	}
	return s.explainError(err)
}

// explainError says what to do about an error of DynamoDB.
func (s *Store) explainError(err error) error {
	if err == nil {
		return nil
	}
	where := fmt.Sprintf("dynamostore: table %q", s.table)
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		where += fmt.Sprintf(" is not in this region: aws dynamodb create-table "+
			"--table-name %s --billing-mode PAY_PER_REQUEST --key-schema AttributeName=namespace,KeyType=HASH "+
			"AttributeName=node,KeyType=RANGE --attribute-definitions AttributeName=namespace,AttributeType=S "+
			"AttributeName=node,AttributeType=N", s.table)
	}
	return &store.Failure{Err: err, Text: where + ": " + err.Error(), Public: where}
}

const (
	keyNamespace = "namespace"
	keyNode      = "node"
	valueRecord  = "record" // what [store.Encode] makes
)

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func keyOf(k store.Key) item { return item{keyNamespace: text(k.Namespace), keyNode: number(k.Node)} }

// record returns the record in an item. An item of another program is an
// error.
func record(it item) (store.Record, error) {
	namespace, _ := it[keyNamespace].(*types.AttributeValueMemberS)
	node, _ := it[keyNode].(*types.AttributeValueMemberN)
	value, ok := it[valueRecord].(*types.AttributeValueMemberS)
	if namespace == nil || node == nil || !ok {
		return store.Record{}, errors.New("dynamostore: the table has an item that this store did not write: use " +
			"another table")
	}
	if it["aws:rep:updateregion"] != nil { // DescribeTable does not show it
		return store.Record{}, errors.New("dynamostore: the table is a global one of version 2017.11.29, and writes " +
			"of two regions overwrite each other: use a table of one region")
	}
	n, err := strconv.ParseInt(node.Value, 10, 64)
	if err != nil {
		return store.Record{}, fmt.Errorf("dynamostore: the key of an item: %w", err)
	}
	r, _, err := store.Decode(store.Key{Namespace: namespace.Value, Node: n}, value.Value)
	return r, err
}

func records(out []store.Record, items []item) ([]store.Record, error) {
	for _, it := range items {
		r, err := record(it)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
