// This file keeps the manifests out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/deploy

go 1.26.0
