// Package amazon starts servers that answer as DynamoDB and S3 do.
package amazon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/snowfence/snowfence/test/harness/servers"
)

const region = "eu-central-1"

func credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
}

// Account sets the credentials of this process and of those that it starts.
func Account() error {
	var errs []error
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		errs = append(errs, os.Setenv(name, value))
	}
	return errors.Join(errs...)
}

// URL returns the URL of a table, or of a bucket and a prefix, for programs
// with an [Account].
func URL(scheme, name, address string) string {
	return scheme + "://" + name + "?region=" + region + "&endpoint=http://" + address
}

// StartDynamoDB starts dynalite, which has its tables in memory, and
// returns its address.
func StartDynamoDB(t testing.TB) string {
	t.Helper()
	node := servers.Need(t, "nodejs", "node")[0]
	_, file, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(file), "dynalite")
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		t.Skipf("dynalite: %v; make test installs it (cd %s && npm ci --ignore-scripts)", err, folder)
	}
	address := servers.Address(servers.Ports(t, 1)[0])
	_, port, _ := strings.Cut(address, ":")
	servers.Start(t, "dynalite", node, []string{filepath.Join(folder, "server.js"), port}, nil)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("dynalite does not listen: %v", err)
		}
	}
}

// DynamoDB returns a client of a server, through a transport if there is
// one.
func DynamoDB(address string, through http.RoundTripper) *dynamodb.Client {
	o := dynamodb.Options{
		Region: region, BaseEndpoint: aws.String("http://" + address),
		Credentials: aws.CredentialsProviderFunc(credentials),
	}
	if through != nil {
		o.HTTPClient = &http.Client{Transport: through}
	}
	return dynamodb.New(o)
}

// NewTable makes a table as the page says, and waits until it can be used.
func NewTable(t testing.TB, c *dynamodb.Client, name string) {
	t.Helper()
	_, err := c.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("namespace"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("node"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("namespace"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("node"), AttributeType: types.ScalarAttributeTypeN},
		},
	})
	for err == nil {
		var out *dynamodb.DescribeTableOutput
		out, err = c.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		if err == nil && out.Table.TableStatus == types.TableStatusActive {
			return
		}
	}
	t.Fatal(err)
}
