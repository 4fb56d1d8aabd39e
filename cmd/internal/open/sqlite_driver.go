//go:build !snowfence_no_sqlite

package open

import _ "modernc.org/sqlite" // the driver

const hasSQLite = true
