-- A new ID with a number of yours in it, as in snowfence_tag(snowfence_next(), 7).
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_tag(id bigint, tag bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $snowfence$
BEGIN
  IF tag < 0 OR tag > {{Mask}} THEN
    RAISE 'snowfence: the tag %: IDs have tags from 0 to {{Mask}}', tag USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN (id & ~({{Mask}}::bigint << {{Shift}})) | (tag << {{Shift}});
END
$snowfence$;

