DO $snowfence$
BEGIN
  IF NOT (has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')
      AND has_function_privilege('pg_catalog.pg_current_wal_insert_lsn()', 'EXECUTE')
      AND has_function_privilege('pg_catalog.pg_walfile_name(pg_lsn)', 'EXECUTE')) THEN
    RAISE 'snowfence: this needs pg_control_system, pg_current_wal_insert_lsn and pg_walfile_name: GRANT EXECUTE ON FUNCTION pg_control_system() TO %, and so on; where they stay closed, let programs make the numbers', current_user;
  END IF;
END
$snowfence$;

