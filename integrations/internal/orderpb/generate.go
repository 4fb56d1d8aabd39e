// Package orderpb is a message with IDs, as protoc-gen-go makes it.
package orderpb

//go:generate sh -c "protoc --plugin=$(GOWORK=off go tool -n -modfile=../../../tools.mod protoc-gen-go) --go_out=. --go_opt=paths=source_relative order.proto"
