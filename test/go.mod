module github.com/snowfence/snowfence/test

go 1.26

require github.com/snowfence/snowfence v0.0.0

replace github.com/snowfence/snowfence => ../
