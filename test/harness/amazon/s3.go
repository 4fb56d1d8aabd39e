package amazon

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is in each server.
const Bucket = "ids"

// StartS3 starts a server with a bucket in memory, and returns its address.
func StartS3(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(s.Close)
	address := s.Listener.Addr().String()
	in := &s3.CreateBucketInput{Bucket: aws.String(Bucket)}
	if _, err := S3(address, nil).CreateBucket(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return address
}

// S3 returns a client of a server, through a transport if there is one.
func S3(address string, through http.RoundTripper) *s3.Client {
	o := s3.Options{
		Region: region, BaseEndpoint: aws.String("http://" + address), UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(credentials),

		// Clients made from a configuration have these, too. The server
		// confuses clients with and without them.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
	if through != nil {
		o.HTTPClient = &http.Client{Transport: through}
	}
	return s3.New(o)
}
