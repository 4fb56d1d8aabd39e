module github.com/snowfence/snowfence/remote

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/snowfence/snowfence v0.0.0-00010101000000-000000000000
	google.golang.org/protobuf v1.36.12
)

replace github.com/snowfence/snowfence => ../
