module github.com/snowfence/snowfence/redisstore

go 1.26.0

require (
	github.com/redis/rueidis v1.0.79
	github.com/snowfence/snowfence v0.1.0
)

require golang.org/x/sys v0.49.0 // indirect
