module github.com/snowfence/snowfence/kubestore

go 1.26.0

require (
	github.com/snowfence/snowfence v0.1.0
	go.yaml.in/yaml/v3 v3.0.6
)
