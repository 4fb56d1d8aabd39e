
-- INSERT fills a missing or zero {{Comment}}. LAST_INSERT_ID() stays as it was: ask for {{Returning}}@snowfence_id.
ALTER TABLE {{Table}} ALTER COLUMN {{Column}} SET DEFAULT 0;; -- or INSERT … SELECT could not leave it out
DROP TRIGGER IF EXISTS {{Trigger}};;
CREATE TRIGGER {{Trigger}} BEFORE INSERT ON {{Table}} FOR EACH ROW
BEGIN
  IF NEW.{{Column}} IS NULL OR NEW.{{Column}} = 0 THEN
    SET NEW.{{Column}} = {{Schema}}snowfence_next();
  END IF;
END;;
