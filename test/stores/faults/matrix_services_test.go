//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/amazon"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func kubernetes(t testing.TB) (k *servers.Kubernetes, namespace, url string) {
	k = servers.StartKubernetes(t)
	namespace = k.NewNamespace(t)
	return k, namespace, k.URL(t, k.Address(), namespace)
}

func kubernetesSnapshot(t testing.TB) (string, func() func()) {
	k, _, url := kubernetes(t)
	return url, func() func() {
		kept := filepath.Join(t.TempDir(), "kept")
		k.Etcd.Save(t, kept)
		return func() {
			k.Down()
			k.Etcd.Restore(t, kept, "etcd-cluster")
			k.Again(t)
		}
	}
}

func kubernetesFolder(t testing.TB) (string, func() func()) {
	k, _, url := kubernetes(t)
	return url, func() func() { return folder(t, k.Etcd.Dir, k.Down, k.Down, func() { k.Again(t) }) }
}

// kubernetesItems keeps all objects, and restores them by restore.
func kubernetesItems(t testing.TB, restore func(k *servers.Kubernetes, path string, kept []map[string]any)) (
	string, func() func(),
) {
	k, namespace, url := kubernetes(t)
	path := "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"
	return url, func() func() {
		var kept struct{ Items []map[string]any }
		ask(t, k, path, &kept)
		return func() { restore(k, path, kept.Items) }
	}
}

func ask(t testing.TB, k *servers.Kubernetes, path string, into any) {
	t.Helper()
	var answer bytes.Buffer
	must(t, k.Ask("GET", path, "", &answer))
	must(t, json.Unmarshal(answer.Bytes(), into))
}

func text(t testing.TB, o map[string]any) string {
	b, err := json.Marshal(o)
	must(t, err)
	return string(b)
}

// kubernetesObjects deletes all objects, and makes those of a backup again,
// as a tool for backups does: what a program made in between stays.
func kubernetesObjects(t testing.TB) (string, func() func()) {
	return kubernetesItems(t, func(k *servers.Kubernetes, path string, kept []map[string]any) {
		must(t, k.Ask("DELETE", path, "", nil))
		for _, o := range kept {
			metadata := o["metadata"].(map[string]any)
			for _, of := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
				delete(metadata, of)
			}
			err := k.Ask("POST", path, text(t, o), nil)
			if err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
				t.Fatal(err)
			}
		}
	})
}

// kubernetesInPlace writes the objects of a backup over those of today, as
// kubectl replace does.
func kubernetesInPlace(t testing.TB) (string, func() func()) {
	return kubernetesItems(t, func(k *servers.Kubernetes, path string, kept []map[string]any) {
		for _, o := range kept {
			metadata := o["metadata"].(map[string]any)
			object := path + "/" + metadata["name"].(string)
			fleet.Eventually(t, "the object is written between two renewals", func() error {
				var now struct {
					Metadata struct{ ResourceVersion string }
				}
				ask(t, k, object, &now)
				metadata["resourceVersion"] = now.Metadata.ResourceVersion
				return k.Ask("PUT", object, text(t, o), nil)
			})
		}
	})
}

var idsTable = aws.String("ids")

// dynamo starts a server with a table, and returns functions that read all
// items and write some.
func dynamo(t testing.TB) (c *dynamodb.Client, url string, items func() []map[string]types.AttributeValue,
	put func([]map[string]types.AttributeValue),
) {
	address := amazon.StartDynamoDB(t)
	c = amazon.DynamoDB(address, nil)
	amazon.NewTable(t, c, *idsTable)
	items = func() []map[string]types.AttributeValue {
		out, err := c.Scan(t.Context(), &dynamodb.ScanInput{TableName: idsTable, ConsistentRead: aws.Bool(true)})
		if err != nil || out.LastEvaluatedKey != nil {
			t.Fatal("there are more items than in a page: ", err)
		}
		return out.Items
	}
	put = func(all []map[string]types.AttributeValue) {
		for _, it := range all {
			must(t, tests.ErrOf(c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: idsTable, Item: it})))
		}
	}
	return c, amazon.URL("dynamodb", *idsTable, address), items, put
}

// dynamoTable restores a backup: that makes another table, here after the
// old one was deleted.
func dynamoTable(t testing.TB) (string, func() func()) {
	c, url, items, put := dynamo(t)
	return url, func() func() {
		kept := items()
		return func() {
			must(t, tests.ErrOf(c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: idsTable})))
			gone, one := dynamodb.NewTableNotExistsWaiter(c), &dynamodb.DescribeTableInput{TableName: idsTable}
			must(t, gone.Wait(t.Context(), one, time.Minute))
			amazon.NewTable(t, c, *idsTable)
			put(kept)
		}
	}
}

func dynamoItems(t testing.TB) (string, func() func()) {
	_, url, items, put := dynamo(t)
	return url, func() func() {
		kept := items()
		return func() { put(kept) }
	}
}

// bucket is a bucket, and what it had at a moment.
type bucket struct {
	t    testing.TB
	c    *s3.Client
	name *string
	kept map[string]string
	at   time.Time
}

func newBucket(t testing.TB) (*bucket, string) {
	address := amazon.StartS3(t)
	b := &bucket{t: t, c: amazon.S3(address, nil), name: aws.String(amazon.Bucket)}
	return b, amazon.URL("s3", amazon.Bucket+"/store", address)
}

func (b *bucket) keys() (keys []*string) {
	out, err := b.c.ListObjectsV2(b.t.Context(), &s3.ListObjectsV2Input{Bucket: b.name})
	must(b.t, err)
	for _, o := range out.Contents {
		keys = append(keys, o.Key)
	}
	return keys
}

func (b *bucket) save() {
	b.kept, b.at = map[string]string{}, time.Now()
	for _, key := range b.keys() {
		out, err := b.c.GetObject(b.t.Context(), &s3.GetObjectInput{Bucket: b.name, Key: key})
		must(b.t, err)
		text, err := io.ReadAll(out.Body)
		must(b.t, err)
		b.kept[*key] = string(text)
	}
}

// back writes what was saved, in another second, because times of S3 have
// no fractions.
func (b *bucket) back(without string) {
	within(b.t, patience, "another second", func() bool { return time.Since(b.at) > 2*time.Second })
	for key, text := range b.kept {
		if without == "" || !strings.HasSuffix(key, "/"+without) {
			in := &s3.PutObjectInput{Bucket: b.name, Key: aws.String(key), Body: strings.NewReader(text)}
			_, err := b.c.PutObject(b.t.Context(), in)
			must(b.t, err)
		}
	}
}

func s3Copies(without string) beginning {
	return func(t testing.TB) (string, func() func()) {
		b, url := newBucket(t)
		return url, func() func() {
			b.save()
			return func() { b.back(without) }
		}
	}
}

func s3Bucket(t testing.TB) (string, func() func()) {
	b, url := newBucket(t)
	return url, func() func() {
		b.save()
		return func() {
			fleet.Eventually(t, "the bucket is deleted", func() error { // a holder may write meanwhile
				for _, key := range b.keys() {
					_, err := b.c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: b.name, Key: key})
					must(b.t, err)
				}
				return tests.ErrOf(b.c.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: b.name}))
			})
			must(b.t, tests.ErrOf(b.c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: b.name})))
			b.back("")
		}
	}
}
