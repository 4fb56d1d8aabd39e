-- name: CreateOrder :exec
INSERT INTO orders (id, parent, name) VALUES ($1, $2, $3);

-- name: GetOrder :one
SELECT id, parent, name FROM orders WHERE id = $1;

-- name: CopyOrders :copyfrom
INSERT INTO orders (id, parent, name) VALUES ($1, $2, $3);

-- name: ListOrders :many
SELECT id, parent, name FROM orders WHERE id = ANY(@ids::bigint[]) ORDER BY id;
