

-- By itself, because transactions that wrote to the table may wait for a lane. If they keep the table for longer than
-- the timeout, nothing has changed: run this again.
DO $snowfence$
DECLARE
  was  text;   -- the default, or how the column counted
  kind "char"; -- of the identity
  top  bigint;
BEGIN
  SET LOCAL lock_timeout = '2s';
  LOCK TABLE {{Table}} IN ACCESS EXCLUSIVE MODE;
  SELECT a.attidentity, pg_catalog.pg_get_expr(d.adbin, d.adrelid) INTO kind, was FROM pg_catalog.pg_attribute a
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = '{{TableText}}'::regclass AND a.attname = '{{ColumnText}}';
  IF kind <> '' OR was LIKE 'nextval(%' THEN
    SELECT max({{Column}}) INTO top FROM {{Table}};
    IF top >= {{Schema}}.snowfence_from(pg_catalog.now()) THEN
      RAISE 'snowfence: a row has the number %, which an ID could meet: IDs of now begin at %', top, {{Schema}}.snowfence_from(pg_catalog.now());
    END IF;
    was := 'SET DEFAULT ' || was;
    IF kind <> '' THEN
      SELECT pg_catalog.format('DROP DEFAULT, ALTER COLUMN %s ADD GENERATED %s AS IDENTITY (START WITH %s INCREMENT BY %s)', '{{ColumnNameText}}',
          CASE kind WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END,
          coalesce(pg_catalog.pg_sequence_last_value(s.seqrelid) + s.seqincrement, s.seqstart), s.seqincrement)
        INTO was FROM pg_catalog.pg_sequence s
        WHERE s.seqrelid = pg_catalog.pg_get_serial_sequence('{{TableText}}', '{{ColumnText}}')::regclass;
      ALTER TABLE {{Table}} ALTER COLUMN {{Column}} DROP IDENTITY;
    END IF;
    RAISE NOTICE 'snowfence: the way back: ALTER TABLE % ALTER COLUMN % %', '{{TableText}}', '{{ColumnNameText}}', was;
  END IF;
  ALTER TABLE {{Table}} ALTER COLUMN {{Column}} SET DEFAULT {{Schema}}.snowfence_next();
END
$snowfence$;
