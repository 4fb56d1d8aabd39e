// This file keeps the libraries of other languages out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/clients

go 1.26.0
