module github.com/snowfence/snowfence

go 1.26
