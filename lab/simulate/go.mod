// This file keeps the simulation of fleets out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/lab/simulate

go 1.26.0

require github.com/snowfence/snowfence v0.1.0
