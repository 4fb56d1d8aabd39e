// This file keeps what the Makefile runs out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/scripts

go 1.26.0
