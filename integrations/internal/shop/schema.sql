CREATE TABLE orders (
    id     bigint PRIMARY KEY,
    parent bigint REFERENCES orders,
    name   text NOT NULL
);
