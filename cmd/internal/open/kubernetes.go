package open

import (
	"context"
	"time"

	"github.com/snowfence/snowfence/kubestore"
)

// openKubernetes opens a namespace of a cluster: of the pod, or of a
// kubeconfig file.
func openKubernetes(ctx context.Context, a *address, _ func(string) string) (*Store, error) {
	if err := a.rejectUnknown("kubeconfig", "timeout"); err != nil {
		return nil, err
	}
	timeout, err := a.durationParam("timeout", 3*time.Second)
	switch {
	case err != nil:
		return nil, err
	case len(a.hosts) > 0 || a.user != "" || a.hasPassword:
		return nil, a.errorf("leave out host and user: a pod has them from its service account, other programs from " +
			"the parameter kubeconfig: write kubernetes:///NAMESPACE")
	}
	config, err := kubestore.InCluster()
	if file := a.params["kubeconfig"]; file != "" {
		config, err = kubestore.Kubeconfig(file)
	}
	if err != nil {
		return nil, a.wrapError(err)
	}
	if a.path != "" {
		config.Namespace = a.path
	}
	st, err := kubestore.New(config, &kubestore.Options{Timeout: timeout, ReadOnly: a.looks})
	if err != nil {
		return nil, a.wrapError(err)
	}
	return a.newStore(ctx, st, timeout, nil, func() error { return nil })
}
