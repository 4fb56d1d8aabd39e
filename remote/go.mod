module github.com/snowfence/snowfence/remote

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/snowfence/snowfence v0.1.0
	google.golang.org/protobuf v1.36.12
)
