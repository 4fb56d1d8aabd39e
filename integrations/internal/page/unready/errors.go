package orders

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
)

// WriteError answers a request that failed. Without an ID it is 503, and
// the client comes again.
func WriteError(w http.ResponseWriter, err error) {
	var wait *snowfence.WaitError
	if !errors.As(err, &wait) {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	seconds := int64(min(wait.Missing, time.Minute)/time.Second) + 1
	w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	http.Error(w, "no ID at the moment", http.StatusServiceUnavailable)
}
