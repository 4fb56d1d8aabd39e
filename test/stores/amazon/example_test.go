package amazon

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/snowfence/snowfence/dynamostore"
)

// A program makes IDs, and keeps its lease in a table of DynamoDB. The page
// has these lines.
func Example() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	config, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	ids, err := dynamostore.Open(ctx, dynamodb.NewFromConfig(config), "ids", nil)
	if err != nil {
		return err
	}
	defer ids.Close()
	id, err := ids.Next(ctx)
	fmt.Println(id)
	return err
}
