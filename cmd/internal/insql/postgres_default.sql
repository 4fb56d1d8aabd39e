

-- By itself, because transactions that wrote to the table may wait for a lane.
ALTER TABLE {{Table}} ALTER COLUMN {{Column}} SET DEFAULT {{Schema}}.snowfence_next();