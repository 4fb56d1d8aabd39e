// This file keeps the site out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/site

go 1.26.0
