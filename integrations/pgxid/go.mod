module github.com/snowfence/snowfence/integrations/pgxid

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/snowfence/snowfence v0.1.0
)
