//go:build snowfence_amazon

package open

import (
	"errors"
	"strings"
	"testing"
)

// URLs of Amazon's stores name one table or bucket, and a region.
func TestAmazonURLs(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "key",
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": t.TempDir() + "/none",
	} {
		t.Setenv(name, value)
	}
	for rawURL, want := range map[string]string{
		"dynamodb://ids":                  "the region is missing",
		"dynamodb://ids/x?region=r":       "write nothing after the table",
		"dynamodb://a:secret@ids":         "no user or password",
		"dynamodb://ids,more?region=r":    "give one table",
		"s3://?region=r":                  "give one table or bucket",
		"s3://ids?colour=red":             "parameter colour is not known",
		"s3://ids/a?region=r&timeout=0":   "timeout must be a time",
		"s3://ids/a?region=r&profile=you": "failed to get shared config profile",
	} {
		_, err := Open(t.Context(), rawURL)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, which should say %q", rawURL, err, want)
		}
	}
	for _, rawURL := range []string{"dynamodb://ids", "s3://ids/a"} {
		_, err := Open(t.Context(), rawURL+"?region=r&endpoint=http://127.0.0.1:1&timeout=100ms")
		if err == nil || errors.Is(err, ErrURL) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s, which does not answer: %v", rawURL, err)
		}
	}
}
