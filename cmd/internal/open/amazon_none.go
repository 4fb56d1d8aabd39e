//go:build !snowfence_amazon

package open

import "context"

func openDynamoDB(_ context.Context, a *address, _ func(string) string) (*Store, error) {
	return nil, a.withoutAmazon()
}

func openS3(_ context.Context, a *address, _ func(string) string) (*Store, error) {
	return nil, a.withoutAmazon()
}

// withoutAmazon is an error: Amazon's SDK is left out, because it makes the
// program a quarter larger.
func (a *address) withoutAmazon() error {
	return a.errorf("this build has no driver for it: build the program with -tags snowfence_amazon " +
		"(https://snowfence.github.io/snowfence/start/install)")
}
