-- A narrower column, or one that refers to it, would refuse or round the IDs.
DO $snowfence$
DECLARE
  narrow constant oid[] := ARRAY['int2'::regtype, 'int4'::regtype, 'float4'::regtype, 'float8'::regtype];
  id     pg_catalog.pg_attribute;
  refers text;
BEGIN
  SELECT * INTO STRICT id FROM pg_catalog.pg_attribute WHERE attrelid = '{{TableText}}'::regclass AND attname = '{{ColumnText}}';
  IF id.atttypid = ANY (narrow) THEN
    RAISE 'snowfence: the column % of % is narrower than an ID: first ALTER COLUMN … TYPE bigint', '{{ColumnText}}', '{{TableText}}';
  END IF;
  SELECT string_agg(format('%I of %s', a.attname, k.conrelid::regclass), ', ') INTO refers
    FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid
      AND a.attnum = k.conkey[array_position(k.confkey, id.attnum)]
    WHERE k.contype = 'f' AND k.confrelid = id.attrelid AND a.atttypid = ANY (narrow);
  IF refers IS NOT NULL THEN
    RAISE 'snowfence: columns that refer to % of % are narrower than an ID: %: first ALTER COLUMN … TYPE bigint', '{{ColumnText}}', '{{TableText}}', refers;
  END IF;
END
$snowfence$;
