package plan

import (
	"errors"
	"math"
	"time"
)

// Numbers says when the numbers of a sequence run out at a rate.
type Numbers struct {
	Count     int64      `json:"numbers,string"`   // in each period, or left in all
	Period    string     `json:"period,omitempty"` // year, quarter, month, week or day: then numbers begin again at 1
	PerSecond float64    `json:"numbers_per_second"`
	Lasts     float64    `json:"lasts_seconds"`    // from the first number on
	Needed    float64    `json:"needed,omitempty"` // in the longest period
	RunsOut   *time.Time `json:"runs_out"`         // null: not before the year 9999, or each period has enough
	Enough    bool       `json:"enough"`           // each period has enough; of a plain sequence always true
}

// longest is how many hours a period has at most: summer time ends in one.
var longest = map[string]float64{
	"year": 366 * 24, "quarter": 92*24 + 1, "month": 31*24 + 1, "week": 7*24 + 1, "day": 24 + 1,
}

// OfNumbers returns when count numbers run out that are used from now on,
// or from the start of each period.
func OfNumbers(count int64, period string, perSecond float64, now time.Time) (Numbers, error) {
	if !(perSecond > 0) || perSecond > 1e18 {
		return Numbers{}, errors.New("the rate must be above 0 and at most 1e18: how many numbers a second, or 500/day")
	}
	n := Numbers{Count: count, Period: period, PerSecond: perSecond, Lasts: float64(count) / perSecond, Enough: true}
	if period != "" {
		n.Needed = math.Ceil(perSecond * longest[period] * 3600)
		n.Enough = n.Needed <= float64(count)
		return n, nil
	}
	if end := float64(now.Unix()) + n.Lasts; end < float64(lastTime.Unix()) {
		at := time.Unix(int64(end), 0).UTC()
		n.RunsOut = &at
	}
	return n, nil
}

// lastTime is where dates end for people.
var lastTime = time.Date(9998, 12, 31, 0, 0, 0, 0, time.UTC)
