// This file keeps the audit of `snowfence audit` out of the zip of the root module, which everybody loads.
module github.com/snowfence/snowfence/internal/audit

go 1.26.0

require github.com/snowfence/snowfence v0.1.0
