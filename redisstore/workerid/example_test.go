package workerid_test

import (
	"context"
	"log"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/idgen"
	"github.com/snowfence/snowfence/redisstore/workerid"
)

// A generator over a worker number: it ends when the number is lost, and
// goes on with another.
func Example() {
	ctx := context.Background()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := fromRedis(ctx, client); err != nil {
		log.Fatal(err)
	}
	log.Println(idgen.NextId())
	if err := idgen.Close(); err != nil { // gives the number back
		log.Fatal(err)
	}
}

// fromRedis is for programs that use the API of snow-drift.
func fromRedis(ctx context.Context, client rueidis.Client) error {
	layout, err := idgen.NewIdGeneratorOptions(0).Layout()
	if err != nil {
		return err
	}
	scheme, err := snowfence.NewScheme(layout)
	if err != nil {
		return err
	}
	registrar, err := workerid.New(client, &workerid.Options{Min: 32, Max: 63, TTL: 15 * time.Second})
	if err != nil {
		return err
	}
	workers, err := registrar.Fence(ctx, scheme)
	if err != nil {
		return err
	}
	return idgen.SetFence(workers, 2000)
}

// The functions of the original, with the same parameters and results.
func ExampleRegisterOne() {
	id := workerid.RegisterOne(workerid.RegisterConf{
		Address: "127.0.0.1:6379", MinWorkerId: 32, MaxWorkerId: 63, LifeTimeSeconds: 15,
	})
	if id < 0 {
		log.Fatal("no worker number")
	}
	defer workerid.UnRegister()
	log.Println(makeIDs(id))
}

func makeIDs(id int32) error {
	layout, err := idgen.NewIdGeneratorOptions(0).Layout()
	if err != nil {
		return err
	}
	scheme, err := snowfence.NewScheme(layout)
	if err != nil {
		return err
	}
	worker, err := workerid.FenceOf(id, scheme)
	if err != nil {
		return err
	}
	return idgen.SetFence(worker, 2000)
}
