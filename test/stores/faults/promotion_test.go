//go:build linux

package faults

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// idsOf asks a server for IDs. One that cannot answer gives none.
func idsOf(ctx context.Context, web string) (ids []snowfence.ID, err error) {
	_, body, unanswered := servers.Ask(ctx, &quick, http.MethodGet, "http://"+web+"/v1/default/next?n=20", "",
		"Accept: text/plain")
	if unanswered != nil {
		return nil, nil
	}
	for text := range strings.FieldsSeq(body) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		ids = append(ids, snowfence.ID(id))
	}
	return ids, nil
}

const pairTTL = 3 * time.Second

// TestPromotionUnderServers ends a primary and promotes its standby, which
// missed the last grants, under two servers. At full length their clocks
// are 20 seconds apart; then one alone is wrong by as much, which it says,
// and heals.
func TestPromotionUnderServers(t *testing.T) {
	t.Parallel()
	tempDir(t) // so that all folders of this test are on the machine's own disk
	primary := servers.StartPostgres(t)
	standby := primary.Standby(t)
	store := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable&"+
		"target_session_attrs=read-write", primary.Port, standby.Port, primary.NewDatabase(t))
	skew := "15s"
	if testing.Short() {
		skew = "1s" // what was lost can lie twice as far ahead
	}
	made := launch(t, "the namespace", nil, snowfencePath(t), "namespace", "create", "default",
		"--max-ttl", pairTTL.String(), "--max-skew", skew, "--store", store)
	<-made.gone
	callers := &fleet.Callers{TB: t}
	t.Cleanup(callers.Wait)
	// for longer than a grant lasts: so the IDs are of new ones
	goOn := func(what string, of ...int) {
		t.Helper()
		time.Sleep(pairTTL)
		callers.GoOn(what, of...)
	}
	var processes [2]*worker
	var clocks [2]*stepped
	for i, port := range servers.Ports(t, 2) {
		web := servers.Address(port)
		name, args := fmt.Sprint("server ", i), []string{
			"serve", "--store", store, "--http", web, "--resp", "", "--ttl", pairTTL.String(), "--ready-for", "default",
		}
		if testing.Short() {
			processes[i] = launch(t, name, nil, snowfencePath(t), args...)
		} else {
			clocks[i] = launchStepped(t, name, args...)
			clocks[i].step(t, time.Duration(20*i-10)*time.Second)
			processes[i] = clocks[i].worker
		}
		callers.Ask(t.Context(), func(ctx context.Context) ([]snowfence.ID, error) { return idsOf(ctx, web) })
	}
	goOn("both servers make IDs")
	standby.StopCleanly(t)
	goOn("IDs go on without the standby")
	primary.Kill()
	standby.Again(t)
	standby.Promote(t)
	goOn("both servers make IDs on the promoted standby")
	if testing.Short() {
		return
	}
	clocks[0].step(t, 0)
	m := processes[1].mark()
	clocks[1].step(t, 20*time.Second)
	within(t, patience, "the server with the wrong clock says so", func() bool {
		processes[1].mu.Lock()
		defer processes[1].mu.Unlock()
		return strings.Contains(last(processes[1].log[m.log:], 100), "clock")
	})
	goOn("the other one goes on", 0)
	clocks[1].step(t, 0)
	goOn("both go on when the clock is right")
}
