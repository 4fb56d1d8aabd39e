//go:build snowfence_no_postgres || snowfence_no_mysql || snowfence_no_redis || snowfence_no_etcd

package open

// leftOut is the error of a store without its driver in this build: the C
// library can be built without some of them, to be smaller.
func (a *address) leftOut(tag string) error {
	return a.errorf("this build has no driver for it (build tag snowfence_no_%s)", tag)
}
