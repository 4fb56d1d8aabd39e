// This file keeps the model of the generator's word out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/internal/wordmodel

go 1.26.0
