// This file keeps the pages and their pictures out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/docs

go 1.26.0
