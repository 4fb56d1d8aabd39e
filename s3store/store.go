// Package s3store keeps leases in a bucket of Amazon S3: a [store.Store]
// with an object for each record.
//
//	config, err := config.LoadDefaultConfig(ctx)
//	ids, err := s3store.Open(ctx, s3.NewFromConfig(config), "my-bucket", nil)
//
// # Promises
//
// Reads and lists of Amazon S3 are strongly consistent. Each write names
// the entity tag of the object that it replaces (If-Match), or that there
// is none (If-None-Match). So it is a compare-and-swap, and S3 acknowledges
// it when it is durable in several zones. IDs are unique within one
// namespace of one bucket. While S3 is unreachable, no lease is renewed:
// holders make IDs to the end of their grants.
//
// This is about Amazon's S3. Other servers speak its protocol, and may
// ignore the conditions: before its first use, the store tries a condition
// that has to fail, and refuses such a server. This tests one case only.
// Use another server only if its documentation says that conditional writes
// are atomic.
//
// # Restores: seen and unseen
//
// The store's identity is the text and the time of an object. A copy of the
// bucket has objects of another time, so programs notice it. Where objects
// get an older version, and that object does not, only running holders
// notice it: run "snowfence store restored" before programs start.
//
// # Needs
//
// It needs the rights to get and put objects, and to list the bucket.
// The store deletes nothing. Let no lifecycle rule delete current versions.
// In a bucket that keeps old versions, each renewal makes one: let a rule
// delete these. Replicate the bucket in one direction only.
package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Options says how leases are kept. A nil *Options uses the defaults.
type Options struct {
	// Prefix begins the names of all objects; "" means "snowfence/".
	Prefix string

	// Timeout limits one request; 0 means 3 s. Keep it well below a third
	// of the ttl.
	Timeout time.Duration

	// ReadOnly makes the store change nothing. All methods fail if no
	// program has used the prefix.
	ReadOnly bool
}

// Store keeps leases in a bucket. It is safe for concurrent use.
type Store struct {
	store.Basic

	api     *s3.Client
	bucket  string
	prefix  string
	timeout time.Duration
	looks   bool                        // Options.ReadOnly
	tried   atomic.Bool                 // the server compares
	told    atomic.Pointer[store.Reply] // to the last question for the identity
}

// parallel is how many requests are under way at once.
const parallel = 16

// Open leases a node, and returns a generator on it. It makes the namespace
// "default" if it is missing. Closing the generator ends the lease. Nil
// options use the defaults.
func Open(ctx context.Context, c *s3.Client, bucket string, o *lease.Options) (*snowfence.Generator, error) {
	st, err := New(c, bucket, nil)
	if err != nil {
		return nil, err
	}
	return lease.Generator(ctx, st, o)
}

// New returns a store. It does no I/O: errors of the bucket show at the
// first use. The client stays yours.
func New(c *s3.Client, bucket string, o *Options) (*Store, error) {
	o = cmp.Or(o, &Options{})
	switch {
	case c == nil || bucket == "":
		return nil, errors.New("s3store: there is no client, or no name of a bucket")
	case o.Timeout < 0:
		return nil, fmt.Errorf("s3store: Options.Timeout is %v; it must be positive", o.Timeout)
	}
	return &Store{
		api: c, bucket: bucket, prefix: cmp.Or(o.Prefix, "snowfence/"), timeout: cmp.Or(o.Timeout, 3*time.Second),
		looks: o.ReadOnly,
	}, nil
}

// each runs do for the numbers below n, some at the same time.
func each(n int, do func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			do(i)
			<-slots
		})
	}
	wg.Wait()
}

// Get implements [store.Store]. Each key takes a request, and the identity
// another one.
func (s *Store) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if err := s.makeIdentity(ctx); err != nil {
		return nil, store.Reply{}, err
	}
	return s.getAll(ctx, keys)
}

// getAll gets records, and the identity at the same time.
func (s *Store) getAll(ctx context.Context, keys []store.Key) (_ []store.Record, told store.Reply, _ error) {
	records, errs := make([]store.Record, len(keys)), make([]error, len(keys)+1)
	each(len(errs), func(i int) {
		if i == len(keys) {
			told, errs[i] = s.ask(ctx)
			return
		}
		records[i], _, errs[i] = s.readRecord(ctx, keys[i])
	})
	return records, told, errors.Join(errs...)
}

// readRecord gets one record, and the entity tag of its object.
func (s *Store) readRecord(ctx context.Context, k store.Key) (store.Record, string, error) {
	o, err := s.getObject(ctx, s.objectName(k))
	if err != nil || o.tag == "" {
		return store.Record{Key: k}, "", err
	}
	r, _, err := store.Decode(k, o.text)
	return r, o.tag, err
}

// object is what S3 keeps under a name.
type object struct {
	text string
	tag  string // the entity tag; "" if there is no object
	at   time.Time
	now  time.Time // of the server, with a resolution of a second; zero if it did not say it
}

func (s *Store) getObject(ctx context.Context, name string) (o object, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out, err := s.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &name}, once)
	if missing(err) {
		return o, nil
	}
	if err != nil {
		return o, s.explainError(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return o, s.explainError(err)
	}
	o.now, _ = middleware.GetServerTime(out.ResultMetadata)
	o.text, o.tag, o.at = string(body), aws.ToString(out.ETag), aws.ToTime(out.LastModified)
	return o, nil
}

// once lets the client repeat nothing. A repeated write would find the
// first one, and take it for another's. Repeated reads would wait, and hide
// why the service refuses them.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

// refused reports whether an answer says that a write was not done because
// of its condition, or of another write at the same time. Where there is no
// object, S3 answers NoSuchKey to If-Match, which has a tag.
func refused(err error, tag string) bool {
	return answered(err, http.StatusPreconditionFailed) || answered(err, http.StatusConflict) ||
		tag != "" && missing(err)
}

// missing reports whether S3 said that there is no object. Another 404 can
// be of a proxy, and says nothing about it.
func missing(err error) bool { return says(err, "NoSuchKey") }

// answered reports whether S3 answered with a code.
func answered(err error, code int) bool {
	var answer *awshttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode() == code
}

// List implements [store.Store].
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	if err := s.makeIdentity(ctx); err != nil || nodes.From >= nodes.Until {
		return nil, store.Reply{}, err
	}
	from := s.objectName(store.Key{Namespace: namespace, Node: nodes.From})
	folder := from[:strings.LastIndexByte(from, '/')+1]
	var keys []store.Key
	err := s.eachName(ctx, folder, "", from[:len(from)-1], func(name string) (bool, error) {
		node, err := store.ParseNodeText(name[len(folder):])
		k := store.Key{Namespace: namespace, Node: node}
		switch {
		case err != nil:
			return false, fmt.Errorf("s3store: the object %q is not of this store: use another prefix", name)
		case node >= nodes.Until:
			return false, nil
		case node >= nodes.From:
			keys = append(keys, k)
		}
		return len(keys) < limit, nil
	})
	if err != nil {
		return nil, store.Reply{}, err
	}
	return s.getAll(ctx, keys)
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	if err := s.makeIdentity(ctx); err != nil {
		return nil, store.Reply{}, err
	}
	var keys []store.Key
	err := s.eachName(ctx, s.prefix, "/", "", func(name string) (bool, error) {
		namespace, err := unescape(strings.TrimSuffix(name[len(s.prefix):], "/"))
		keys = append(keys, store.Key{Namespace: namespace, Node: store.NamespaceNode},
			store.Key{Namespace: namespace, Node: store.SequenceNode})
		return true, err
	})
	if err != nil {
		return nil, store.Reply{}, err
	}
	heads, told, err := s.getAll(ctx, keys)
	heads = slices.DeleteFunc(heads, func(r store.Record) bool { return r.Nonce == "" })
	slices.SortFunc(heads, func(a, b store.Record) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return heads, told, err
}

// eachName calls do with the names that begin with a prefix, in their
// order, until it returns false. With a delimiter, these are the folders.
// It begins after a name.
func (s *Store) eachName(ctx context.Context, prefix, delimiter, after string, do func(string) (bool, error)) error {
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix}
	if delimiter != "" {
		in.Delimiter = &delimiter
	}
	if after != "" {
		in.StartAfter = &after
	}
	for {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		out, err := s.api.ListObjectsV2(ctx, in, once)
		cancel()
		if err != nil {
			return s.explainError(err)
		}
		var names []string
		for _, o := range out.Contents {
			if delimiter == "" {
				names = append(names, aws.ToString(o.Key))
			}
		}
		for _, p := range out.CommonPrefixes {
			names = append(names, aws.ToString(p.Prefix))
		}
		for _, name := range names {
			if more, err := do(name); err != nil || !more {
				return err
			}
		}
		if in.ContinuationToken = out.NextContinuationToken; in.ContinuationToken == nil {
			return nil
		}
	}
}

// Swap implements [store.Store]. Each write takes two requests.
func (s *Store) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) (_ []error, _ []store.Record, told store.Reply) {
	errs := make([]error, len(writes))
	err := store.Check(writes)
	if s.looks {
		err = fmt.Errorf("s3store: %w", store.ErrReadOnly)
	}
	if err == nil {
		err = s.makeIdentity(ctx)
	}
	if err == nil {
		told.Identity = s.told.Load().Identity
	}
	each(len(writes), func(i int) {
		if errs[i] = err; err == nil {
			errs[i] = s.swapRecord(ctx, writes[i])
		}
	})
	return errs, nil, told
}

// replaceObject is putObject, and reports whether to read the object and
// try again. Before that, other writers of it have time to finish.
func (s *Store) replaceObject(ctx context.Context, name, text, tag string) (again bool, _ error) {
	err := s.putObject(ctx, name, text, tag)
	if !refused(err, tag) {
		return false, s.explainError(err)
	}
	select {
	case <-time.After(10*time.Millisecond + rand.N(90*time.Millisecond)):
		return true, nil
	case <-ctx.Done():
		return false, s.explainError(ctx.Err())
	}
}

// swapRecord writes one record. It reads the entity tag first. A refusal
// may come from another write at the same time that was not done either, so
// the nonce decides.
func (s *Store) swapRecord(ctx context.Context, w store.Write) error {
	for sent := false; ; sent = true {
		r, tag, err := s.readRecord(ctx, w.New.Key)
		switch {
		case err != nil:
			return err
		case sent && r.Nonce == w.New.Nonce:
			return nil // a proxy sent the write twice, and the first one was done
		case r.Nonce != w.Old:
			return store.ErrLost
		}
		again, err := s.replaceObject(ctx, s.objectName(w.New.Key), store.Encode(w.New, ""), tag)
		if !again {
			return err
		}
	}
}

// putObject writes an object if the stored one has this tag; with "", if
// none is stored.
func (s *Store) putObject(ctx context.Context, name, text, tag string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: &name, Body: strings.NewReader(text), IfNoneMatch: aws.String("*")}
	if tag != "" {
		in.IfNoneMatch, in.IfMatch = nil, &tag
	}
	_, err := s.api.PutObject(ctx, in, once)
	return err
}
