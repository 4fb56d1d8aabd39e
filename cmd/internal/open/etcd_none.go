//go:build snowfence_no_etcd

package open

import "context"

func openEtcd(_ context.Context, a *address, _ func(string) string) (*Store, error) {
	return nil, a.leftOut("etcd")
}
