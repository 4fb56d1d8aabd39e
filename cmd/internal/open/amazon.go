//go:build snowfence_amazon

package open

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/snowfence/snowfence/dynamostore"
	"github.com/snowfence/snowfence/s3store"
)

// amazon reads the common parts of both URLs: the name of the table or
// bucket, and the place of Amazon's own settings (variables, files and
// roles, as for its command line).
func (a *address) amazon(ctx context.Context) (name string, c aws.Config, timeout time.Duration, err error) {
	if err := a.rejectUnknown("endpoint", "profile", "region", "timeout"); err != nil {
		return "", c, 0, err
	}
	if timeout, err = a.durationParam("timeout", 3*time.Second); err != nil {
		return "", c, 0, err
	}
	if len(a.hosts) != 1 || a.user != "" || a.hasPassword {
		return "", c, 0, a.errorf("give one table or bucket, and no user or password, because Amazon's own " +
			"variables, files and roles have those: write dynamodb://TABLE or s3://BUCKET/PREFIX")
	}
	var o []func(*config.LoadOptions) error
	if region := a.params["region"]; region != "" {
		o = append(o, config.WithRegion(region))
	}
	if profile := a.params["profile"]; profile != "" {
		o = append(o, config.WithSharedConfigProfile(profile))
	}
	if endpoint := a.params["endpoint"]; endpoint != "" {
		o = append(o, config.WithBaseEndpoint(endpoint))
	}
	if c, err = config.LoadDefaultConfig(ctx, o...); err != nil {
		return "", c, 0, a.wrapError(err)
	}
	if c.Region == "" {
		return "", c, 0, a.errorf("the region is missing: add ?region=eu-central-1, or set AWS_REGION")
	}
	return a.hosts[0], c, timeout, nil
}

func openDynamoDB(ctx context.Context, a *address, _ func(string) string) (*Store, error) {
	table, c, timeout, err := a.amazon(ctx)
	if err != nil {
		return nil, err
	}
	if a.path != "" {
		return nil, a.errorf("write nothing after the table, as in dynamodb://TABLE")
	}
	o := &dynamostore.Options{Timeout: timeout, ReadOnly: a.looks}
	st, err := dynamostore.New(dynamodb.NewFromConfig(c), table, o)
	if err != nil {
		return nil, a.wrapError(err)
	}
	return a.newStore(ctx, st, timeout, nil, func() error { return nil })
}

// openS3 opens a bucket, or a prefix of one.
func openS3(ctx context.Context, a *address, _ func(string) string) (*Store, error) {
	bucket, c, timeout, err := a.amazon(ctx)
	if err != nil {
		return nil, err
	}
	o := &s3store.Options{Timeout: timeout, ReadOnly: a.looks}
	if a.path != "" {
		o.Prefix = strings.TrimSuffix(a.path, "/") + "/"
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = a.params["endpoint"] != "" })
	st, err := s3store.New(client, bucket, o)
	if err != nil {
		return nil, a.wrapError(err)
	}
	return a.newStore(ctx, st, timeout, nil, func() error { return nil })
}
