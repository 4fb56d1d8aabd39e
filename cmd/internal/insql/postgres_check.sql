-- A narrower column, or one that refers to it, would refuse, cut or round the IDs.
DO $snowfence$
DECLARE
  id   pg_catalog.pg_attribute;
  c    record;
  fits boolean;
BEGIN
  SELECT * INTO STRICT id FROM pg_catalog.pg_attribute WHERE attrelid = '{{TableText}}'::regclass AND attname = '{{ColumnText}}';
  FOR c IN SELECT a.attname, a.attrelid::regclass AS relation, format_type(a.atttypid, a.atttypmod) AS type
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = id.attrelid AND a.attnum = id.attnum
      OR (a.attrelid, a.attnum) IN (SELECT k.conrelid, k.conkey[array_position(k.confkey, id.attnum)]
        FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND k.confrelid = id.attrelid)
  LOOP
    BEGIN
      EXECUTE format('SELECT (9223372036854775807::%s)::text = ''9223372036854775807''', c.type) INTO fits;
    EXCEPTION WHEN others THEN
      fits := false;
    END;
    IF NOT fits THEN
      RAISE 'snowfence: the column % of % is narrower than an ID: first ALTER TABLE % ALTER COLUMN % TYPE bigint USING %::bigint',
        c.attname, c.relation, c.relation, pg_catalog.quote_ident(c.attname), pg_catalog.quote_ident(c.attname);
    END IF;
  END LOOP;
END
$snowfence$;
