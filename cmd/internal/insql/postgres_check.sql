-- A narrower column would refuse or round the IDs.
DO $snowfence$
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = '{{TableText}}'::regclass AND attname = '{{ColumnText}}'
      AND atttypid IN ('int2'::regtype, 'int4'::regtype, 'float4'::regtype, 'float8'::regtype)) THEN
    RAISE 'snowfence: the column % of % is narrower than an ID: first ALTER COLUMN … TYPE bigint', '{{ColumnText}}', '{{TableText}}';
  END IF;
END
$snowfence$;
