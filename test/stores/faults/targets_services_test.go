//go:build linux

package faults

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"testing"

	"github.com/snowfence/snowfence/test/harness/amazon"
	"github.com/snowfence/snowfence/test/harness/link"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// kubernetesTarget is an API server, which is hurt as any server, and an
// etcd behind it.
func kubernetesTarget(t testing.TB) *target {
	tempDir(t) // from now on all folders of this test are in this one, not on another's disk
	k := servers.StartKubernetes(t)
	tg := &target{kind: "Kubernetes", etcd: k.Etcd, link: link.New(t, k.Address())}
	namespace := k.NewNamespace(t)
	tg.url = k.URL(t, tg.link.Address, namespace)
	tg.reach(t, k.URL(t, k.Address(), namespace))
	tg.fresh = func(t testing.TB, _ int) string { return k.URL(t, tg.link.Address, k.NewNamespace(t)) }
	tg.gate = newGate(t, k.Address(), k.Certs, refusal{
		http.StatusTooManyRequests,
		http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
		`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429,
			"message": "too many requests, please try again later"}`,
	})
	tg.hurtable(func() *servers.Process { return k.Process }, k.Up)
	return tg
}

// dynamoTarget and s3Target stand in for services of Amazon, which nobody
// else can kill or fill up.
func dynamoTarget(t testing.TB) *target {
	address := amazon.StartDynamoDB(t)
	c := amazon.DynamoDB(address, nil)
	amazon.NewTable(t, c, "ids")
	tg := &target{kind: "DynamoDB"}
	tg.fresh = func(t testing.TB, round int) string {
		name := fmt.Sprint("round", round)
		amazon.NewTable(t, c, name)
		return amazon.URL("dynamodb", name, tg.link.Address)
	}
	const text = `{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
		"message": "The level of configured provisioned throughput for the table was exceeded."}`
	return tg.service(t, "dynamodb", "ids", address, refusal{http.StatusBadRequest, http.Header{
		"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {fmt.Sprint(crc32.ChecksumIEEE([]byte(text)))},
	}, text})
}

func s3Target(t testing.TB) *target {
	tg := &target{kind: "S3"}
	tg.fresh = func(_ testing.TB, round int) string {
		return amazon.URL("s3", fmt.Sprint(amazon.Bucket, "/round", round), tg.link.Address)
	}
	return tg.service(t, "s3", amazon.Bucket+"/store", amazon.StartS3(t), refusal{
		http.StatusServiceUnavailable,
		http.Header{"Content-Type": {"application/xml"}},
		"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>",
	})
}

func (tg *target) service(t testing.TB, scheme, name, address string, tooMany refusal) *target {
	t.Helper()
	tg.reach(t, amazon.URL(scheme, name, address))
	tg.link, tg.gate = link.New(t, address), newGate(t, address, nil, tooMany)
	tg.url = amazon.URL(scheme, name, tg.link.Address)
	return tg
}
