{{About}}-- Layout {{Spec}}, node {{Node}}:
-- {{Lanes}} lanes of {{Per}} numbers a tick each; IDs run at most {{Lead}} ticks ahead of the clock.
BEGIN;
{{Rights}}{{Check}}{{Create}}CREATE TABLE IF NOT EXISTS {{Schema}}.snowfence_state (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  layout   text   NOT NULL,
  node     bigint NOT NULL,
  lanes    int    NOT NULL,
  slots    bigint NOT NULL, -- numbers of a tick that a lane has
  identity text   NOT NULL, -- of the server and its data, when the lanes were last known to be right
  xid      xid    NOT NULL  -- the transaction that wrote the row: another one wrote a row that was restored
);

-- Who this server is, and which data it has. After a promotion the control file still has the old timeline.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_identity() RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $snowfence$
  SELECT (SELECT system_identifier FROM pg_control_system()) || '.'
    || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '.'
    || (SELECT oid FROM pg_database WHERE datname = current_database()) || '.'
    || '{{InText}}.snowfence_state'::regclass::oid
$snowfence$;

-- Notes that the lanes are right for this server and this data.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_accept() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $snowfence$
DECLARE
  mine xid;
BEGIN
  UPDATE {{Schema}}.snowfence_state SET identity = {{Schema}}.snowfence_identity() RETURNING xmin INTO STRICT mine;
  UPDATE {{Schema}}.snowfence_state SET xid = mine;
END
$snowfence$;

DO $snowfence$
DECLARE
  had   {{Schema}}.snowfence_state;
  class int := '{{InText}}.snowfence_state'::regclass::oid::int;
  start bigint := {{From}};
  seq   regclass;
  last  bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles r ON r.oid = c.relowner
      WHERE c.oid = '{{InText}}.snowfence_state'::regclass AND r.rolname = current_user) THEN
    RAISE 'snowfence: somebody else owns the table snowfence_state of this schema: run this as its owner';
  END IF;
  LOCK TABLE {{Schema}}.snowfence_state IN EXCLUSIVE MODE;
  SELECT * INTO had FROM {{Schema}}.snowfence_state;
  IF had.layout <> '{{Spec}}' OR had.node <> {{Node}} THEN
    RAISE 'snowfence: this schema has the functions of node % of the layout %: retire and drop those, or retire these and print them with another --schema', had.node, had.layout;
  END IF;
  IF had.lanes IS NOT NULL AND NOT {{Anew}} THEN -- nothing else had the node since
    start := 0;
  END IF;
  IF had.lanes = {{Lanes}} THEN
    FOR lane IN 0 .. {{Lanes}} - 1 LOOP
      EXIT WHEN start = 0;
      PERFORM pg_catalog.pg_advisory_xact_lock(class, lane);
      seq := pg_catalog.format('%s.snowfence_lane_{{Lanes}}_%s', '{{InText}}', lane);
      IF pg_catalog.pg_sequence_last_value(seq) < start * {{Per}} THEN
        PERFORM pg_catalog.setval(seq, start * {{Per}});
      END IF;
    END LOOP;
    RETURN;
  END IF;
  -- Other lanes have other slices of the same ticks: they begin above all that the old ones took, and lanes of
  -- restored data may not know all of that.
  IF had.lanes IS NOT NULL THEN
    IF NOT EXISTS (SELECT FROM {{Schema}}.snowfence_state WHERE xmin = xid AND identity = {{Schema}}.snowfence_identity()) THEN
      RAISE 'snowfence: the server or its data is not the one that made the IDs: run snowfence_confirm first';
    END IF;
  END IF;
  FOR lane IN 0 .. coalesce(had.lanes, 0) - 1 LOOP
    PERFORM pg_catalog.pg_advisory_xact_lock(class, lane);
    last := pg_catalog.pg_sequence_last_value(
      pg_catalog.format('%s.snowfence_lane_%s_%s', '{{InText}}', had.lanes, lane)::regclass);
    IF last IS NULL THEN
      RAISE 'snowfence: the sequence of lane % was reset: run snowfence_confirm first', lane;
    END IF;
    start := greatest(start, last / had.slots + 1);
  END LOOP;
  FOR lane IN 0 .. coalesce(had.lanes, 0) - 1 LOOP
    EXECUTE pg_catalog.format('DROP SEQUENCE %s.snowfence_lane_%s_%s', '{{InText}}', had.lanes, lane);
  END LOOP;
  FOR lane IN 0 .. {{Lanes}} - 1 LOOP
    EXECUTE pg_catalog.format('CREATE SEQUENCE %s.snowfence_lane_{{Lanes}}_%s MINVALUE 0 START 0 NO CYCLE', '{{InText}}', lane);
    EXECUTE pg_catalog.format('REVOKE ALL ON SEQUENCE %s.snowfence_lane_{{Lanes}}_%s FROM PUBLIC', '{{InText}}', lane);
    PERFORM pg_catalog.setval(pg_catalog.format('%s.snowfence_lane_{{Lanes}}_%s', '{{InText}}', lane)::regclass, start * {{Per}});
  END LOOP;
  IF had.lanes IS NULL THEN
    INSERT INTO {{Schema}}.snowfence_state (layout, node, lanes, slots, identity, xid)
      VALUES ('{{Spec}}', {{Node}}, {{Lanes}}, {{Per}}, '', '0');
    PERFORM {{Schema}}.snowfence_accept();
  ELSE
    UPDATE {{Schema}}.snowfence_state SET lanes = {{Lanes}}, slots = {{Per}};
    PERFORM {{Schema}}.snowfence_accept();
  END IF;
END
$snowfence$;
REVOKE ALL ON TABLE {{Schema}}.snowfence_state FROM PUBLIC;
REVOKE ALL ON FUNCTION {{Schema}}.snowfence_identity(), {{Schema}}.snowfence_accept() FROM PUBLIC;

-- Refuses to make IDs on data that may be older than IDs that were made from it.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_check(session text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $snowfence$
DECLARE
  was text;
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE 'snowfence: this server is a standby, and makes no IDs: connect to the primary' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
  SELECT identity INTO was FROM {{Schema}}.snowfence_state WHERE xmin = xid AND lanes = {{Lanes}};
  IF was IS DISTINCT FROM {{Schema}}.snowfence_identity() THEN
    RAISE 'snowfence: the server or its data is not the one that made the IDs of node {{Node}} (it was %, and is %)',
      coalesce(was, 'restored'), {{Schema}}.snowfence_identity()
      USING ERRCODE = 'object_not_in_prerequisite_state',
      HINT = 'When the old server makes no IDs any more, the owner of these functions runs SELECT {{InText}}.snowfence_confirm(''10 s''), with the largest difference of two clocks.';
  END IF;
  PERFORM set_config('snowfence.' || session, pg_backend_pid()::text, false);
END
$snowfence$;
REVOKE ALL ON FUNCTION {{Schema}}.snowfence_check(text) FROM PUBLIC;

-- A new ID. It counts when the transaction commits.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_next() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $snowfence$
DECLARE
  class    constant oid := '{{InText}}.snowfence_state'::regclass;
  first    constant int := pg_backend_pid() % {{Lanes}};
  lane     int := first;
  seq      regclass;
  last     bigint;
  tick     bigint;
  pos      bigint;
  ahead    bigint;
  waited   bigint := 0;
BEGIN
  IF current_setting('snowfence.checked_' || class, true) IS DISTINCT FROM pg_backend_pid()::text THEN
    PERFORM {{Schema}}.snowfence_check('checked_' || class);
  END IF;
  -- A lane belongs to one transaction to its end: nobody else comes between the look and the set.
  WHILE NOT pg_try_advisory_xact_lock(class::int, lane) LOOP
    lane := (lane + 1) % {{Lanes}};
    IF lane = first THEN
      PERFORM pg_advisory_xact_lock(class::int, lane);
      EXIT;
    END IF;
  END LOOP;
  seq := ('{{InText}}.snowfence_lane_{{Lanes}}_' || lane)::regclass;
  last := pg_sequence_last_value(seq);
  IF last IS NULL THEN
    RAISE 'snowfence: the sequence % was reset, and IDs could repeat', seq
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'The owner of these functions runs SELECT {{InText}}.snowfence_confirm(''10 s'').';
  END IF;
  LOOP
    tick := ((date_part('epoch', clock_timestamp()) * 1000000)::bigint - {{Epoch}}) / {{Tick}};
    -- The slot goes on where it was, so that the low bits of IDs are even.
    pos := greatest(last + 1, tick * {{Per}} + (last + 1) % {{Per}});
    IF pos / {{Per}} > {{MaxTick}} OR tick > {{MaxTick}} OR tick < 0 THEN
      RAISE 'snowfence: the layout {{Spec}} has no ID for this time' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    ahead := pos / {{Per}} - tick - {{Lead}};
    EXIT WHEN ahead <= 0;
    waited := waited + ahead;
    IF waited * {{Tick}} > {{MaxWaitUS}} THEN
      RAISE 'snowfence: the next ID of lane % is % ticks ahead of the clock, more than {{Lead}}', lane, ahead + {{Lead}}
        USING ERRCODE = 'insufficient_resources', HINT = 'The clock of the server stepped back, or one transaction makes very many IDs: wait, or set the clock right.';
    END IF;
    PERFORM pg_sleep(ahead * {{Tick}} / 1000000.0);
  END LOOP;
  PERFORM setval(seq, pos);
  IF current_setting('synchronous_commit') = 'off' THEN -- a crash would undo the step after the ID was seen
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  RETURN ((pos / {{Per}}) << {{TimeShift}}) | (({{First}} + lane::bigint * {{Per}} + pos % {{Per}}) << {{SeqShift}}) | {{NodeBits}};
END
$snowfence$;

{{Tag}}-- What an ID is made of. No row for a number that is no ID of the layout.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_decode(id bigint)
RETURNS TABLE (made_at timestamptz, tick bigint, node bigint, sequence bigint{{TagColumn}})
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $snowfence$
  SELECT 'epoch'::timestamptz + (t * {{Tick}} + {{Epoch}}) * '1 microsecond'::interval, t,
    {{Parts}},
    {{Sequence}}{{TagPart}}
  FROM (SELECT (id >> {{TimeShift}}) & {{MaxTick}} AS t) x{{Where}}
$snowfence$;

-- The IDs of a span of time: WHERE id >= snowfence_from(a) AND id < snowfence_until(b).
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_from(t timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $snowfence$
  SELECT CASE WHEN x.tick > {{MaxTick}} THEN {{End}} ELSE x.tick << {{TimeShift}} END FROM (
    SELECT d / {{Tick}} + (d % {{Tick}} > 0)::int AS tick FROM (
      SELECT greatest(least(extract(epoch FROM t) * 1000000, 9200000000000000000), {{Epoch}})::bigint - ({{Epoch}}) AS d) y) x
$snowfence$;

CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_until(t timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $snowfence$
{{Until}}
$snowfence$;

-- The operator's word that no other server makes IDs of this node any more. Clocks of the two may differ by wait:
-- all IDs from now on lie above what the old one can have made.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_confirm(wait interval) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $snowfence$
DECLARE
  class constant oid := '{{InText}}.snowfence_state'::regclass;
  start bigint;
  seq   regclass;
BEGIN
  IF wait < '0'::interval OR wait > '1 day'::interval THEN
    RAISE 'snowfence: give the largest difference of two clocks, 0 to 1 day, not %', wait USING ERRCODE = 'invalid_parameter_value';
  END IF;
  FOR lane IN 0 .. {{Lanes}} - 1 LOOP
    PERFORM pg_advisory_xact_lock(class::int, lane);
  END LOOP;
  start := ((date_part('epoch', clock_timestamp() + wait) * 1000000)::bigint - {{Epoch}}) / {{Tick}} + {{Lead}} + 1;
  FOR lane IN 0 .. {{Lanes}} - 1 LOOP
    seq := ('{{InText}}.snowfence_lane_{{Lanes}}_' || lane)::regclass;
    start := greatest(start, pg_sequence_last_value(seq) / {{Per}} + 1);
  END LOOP;
  FOR lane IN 0 .. {{Lanes}} - 1 LOOP
    PERFORM setval(('{{InText}}.snowfence_lane_{{Lanes}}_' || lane)::regclass, start * {{Per}});
  END LOOP;
  PERFORM {{Schema}}.snowfence_accept();
  RETURN 'epoch'::timestamptz + (start * {{Tick}} + {{Epoch}}) * '1 microsecond'::interval;
END
$snowfence$;
REVOKE ALL ON FUNCTION {{Schema}}.snowfence_confirm(interval) FROM PUBLIC;
COMMIT;{{Default}}
