//go:build snowfence_no_postgres

package open

import "context"

func openPostgres(_ context.Context, a *address, _ func(string) string) (*Store, error) {
	return nil, a.leftOut("postgres")
}
