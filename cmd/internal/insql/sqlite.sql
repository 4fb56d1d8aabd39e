{{About}}-- Layout {{Spec}}, node {{Node}}: IDs run at most {{Lead}} ticks ahead of the clock.
CREATE TABLE IF NOT EXISTS snowfence_position (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  layout   TEXT    NOT NULL,
  node     INTEGER NOT NULL,
  position INTEGER NOT NULL -- of the last ID: tick × {{Count}} + slot
);
-- It fails with "NOT NULL constraint failed" where another node or layout has this table.
INSERT INTO snowfence_position VALUES (1, '{{Spec}}', {{Node}}, {{Start}})
  ON CONFLICT (one) DO UPDATE SET layout = CASE WHEN layout = excluded.layout AND node = excluded.node THEN layout END;

-- The program makes an ID and uses it in one transaction of its own, BEGIN IMMEDIATE … COMMIT, with PRAGMA synchronous
-- FULL (which is SQLite's default, not every driver's). An ID counts from COMMIT: a rollback takes the position back,
-- and the next transaction gets the same ID. No row means that IDs are too far ahead of the clock, which stepped back,
-- or that another node or layout has the table: roll back, and fail or try again later.
--
-- :next
-- UPDATE snowfence_position SET position = max(position + 1, now.tick * {{Count}} + (position + 1) % {{Count}})
--   FROM (SELECT ((CAST(strftime('%s', 'now') AS INTEGER) * 1000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER)) * 1000
--     - ({{Epoch}})) / {{Tick}} AS tick) AS now
--   WHERE one = 1 AND layout = '{{Spec}}' AND node = {{Node}}
--     AND now.tick BETWEEN 0 AND {{MaxTick}} AND (position + 1) / {{Count}} <= min(now.tick + {{Lead}}, {{MaxTick}})
--   RETURNING ((position / {{Count}}) << {{TimeShift}}) | (({{First}} + position % {{Count}}) << {{SeqShift}}) | {{NodeBits}} AS id;
--
-- :insert
-- INSERT INTO {{Table}} ({{Column}} /* , … */) VALUES (:id /* , … */);
--
-- What an ID is made of, with the time in milliseconds since 1970. No row for a number that is no ID of the layout.
-- :decode
-- SELECT (tick * {{Tick}} + {{Epoch}}) / 1000 AS made_at, tick,
--     {{Parts}} AS node, {{Sequence}} AS sequence
--   FROM (SELECT :id AS id, (:id >> {{TimeShift}}) & {{MaxTick}} AS tick){{Where}};
--
-- The IDs of a span of time are those from the first of :from up to, and without, the first of :until. :time is in
-- milliseconds since 1970.
-- :range
-- SELECT CASE WHEN tick > {{MaxTick}} THEN {{End}} ELSE tick << {{TimeShift}} END AS first
--   FROM (SELECT (d + {{Tick}} - 1) / {{Tick}} AS tick FROM (SELECT max(:time * 1000 - ({{Epoch}}), 0) AS d));
