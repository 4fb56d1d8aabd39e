package main

import (
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// HTTP takes the times that the shell takes, also those whose + a query
// made a space.
func TestTimesOfRequests(t *testing.T) {
	want := must(command.ParseTime("at", "2019-05-17T08:30:00Z"))
	for _, text := range []string{
		"2019-05-17 08:30:00+00", "2019-05-17 08:30:00 00", "2019-05-17 14:00:00 05:30", "2019-05-17T10:30:00 02:00",
		"2019-05-17 08:30:00", "2019-05-17T08:30:00", "1558081800000",
	} {
		if got, err := server.ParseTime(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"2019-05-17 later", "20190517", "2019", "1558081800"} {
		fails(t, errOf(server.ParseTime(text)), "%s", text)
	}
}
