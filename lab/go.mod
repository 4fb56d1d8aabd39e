module github.com/snowfence/snowfence/lab

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/bwmarrin/snowflake v0.3.0
	github.com/google/uuid v1.6.0
	github.com/snowfence/snowfence v0.1.0
	github.com/snowfence/snowfence/remote v0.1.0
	github.com/sony/sonyflake v1.3.0
	github.com/sony/sonyflake/v2 v2.2.0
	github.com/yitter/idgenerator-go v1.3.3
	go.etcd.io/etcd/pkg/v3 v3.7.3
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d
	google.golang.org/protobuf v1.36.12
	gosuda.org/randflake v1.8.0
)

require github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
