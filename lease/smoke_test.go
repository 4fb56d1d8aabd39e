package lease

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ly, _ := snowfence.ParseLayout("time=41,node=10,seq=12,epoch=1999-01-01,tick=1ms")
		s, _ := snowfence.NewScheme(ly)
		st := NewMemory()
		ctx := context.Background()
		l, err := Open(ctx, st, "default", s, &Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		g, err := snowfence.New(snowfence.Config{Fence: l})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			id, err := g.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_ = id
			time.Sleep(time.Second)
		}
		t.Log(l.Status())
		rs, _ := ListLeases(ctx, st, "default")
		t.Logf("%+v", rs)
		if err := g.Close(ctx); err != nil {
			t.Fatal(err)
		}
		rs, _ = ListLeases(ctx, st, "default")
		t.Logf("%+v", rs)
		if err := l.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
