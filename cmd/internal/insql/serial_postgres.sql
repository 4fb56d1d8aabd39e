{{About}}-- Numbers of strict sequences inside the caller's transaction: from the records from which Go's SequenceTx takes.
BEGIN;
{{Rights}}DO $snowfence$
BEGIN
  IF to_regclass('{{InText}}.snowfence_lease') IS NULL THEN
    RAISE 'snowfence: the schema % has no sequences: create one first (snowfence sequence create), or print this with the --schema of the table snowfence_lease', '{{InText}}';
  END IF;
END
$snowfence$;

-- The period of a day, and the text of a number in it.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_dated(pattern text, day date, number bigint, OUT period bigint, OUT label text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $snowfence$
DECLARE
  starts int  := coalesce(substring(pattern FROM '[{]fyy?(?:end)?:([0-9]+)[}]'), '1'); -- the month in which a year begins
  fiscal date := date_trunc('month', day::timestamp) - make_interval(months => starts - 1);
  year   int  := to_char(day, CASE WHEN strpos(pattern, '{week}') > 0 THEN 'IYYY' ELSE 'YYYY' END);
  begun  int  := to_char(fiscal, 'YYYY');
  ended  int  := begun + (starts > 1)::int;
  width  int  := coalesce(substring(pattern FROM '[{]n:([0-9]+)[+]?[}]'), '0');
  digits text;
BEGIN
  period := CASE WHEN strpos(pattern, '{day}') > 0 THEN to_char(day, 'YYYYMMDD')
    WHEN strpos(pattern, '{week}') > 0 THEN to_char(day, 'IYYYIW')
    WHEN strpos(pattern, '{month}') > 0 THEN to_char(day, 'YYYYMM')
    WHEN strpos(pattern, '{quarter}') > 0 THEN to_char(fiscal, 'YYYYQ')
    ELSE to_char(fiscal, 'YYYY') END;
  IF pattern !~ '[{](year|fy:|fyend:)' AND (strpos(pattern, '{yy}') > 0 AND year / 100 <> 20
      OR strpos(pattern, '{fyy:') > 0 AND begun / 100 <> 20 OR strpos(pattern, '{fyyend:') > 0 AND ended / 100 <> 20) THEN
    RAISE 'snowfence: the pattern % has no place for the year of %: use another sequence', pattern, day
      USING ERRCODE = 'sequence_generator_limit_exceeded';
  END IF;
  label := replace(replace(pattern, '{year}', year::text), '{yy}', right(year::text, 2));
  label := regexp_replace(regexp_replace(label, '[{]fy:[0-9]+[}]', begun::text), '[{]fyy:[0-9]+[}]', right(begun::text, 2));
  label := regexp_replace(regexp_replace(label, '[{]fyend:[0-9]+[}]', ended::text), '[{]fyyend:[0-9]+[}]', right(ended::text, 2));
  label := regexp_replace(label, '[{]quarter(:shown)?[}]', to_char(fiscal, 'Q'), 'g');
  label := regexp_replace(label, '[{]month(:shown)?[}]', to_char(day, 'MM'), 'g');
  label := regexp_replace(label, '[{]day(:shown)?[}]', to_char(day, 'DD'), 'g');
  label := replace(label, '{week}', to_char(day, 'IW'));
  label := regexp_replace(label, '[{]n(:[0-9]+[+]?)?[}]', lpad(number::text, greatest(width, length(number::text)), '0'));
  digits := reverse(regexp_replace(label, '[^0-9]', '', 'g'));
  label := replace(label, '{luhn}', ((10 - (SELECT sum(v / 10 + v % 10)
    FROM (SELECT substr(digits, i, 1)::int * (1 + i % 2) AS v FROM generate_series(1, length(digits)) i) x) % 10) % 10)::text);
END
$snowfence$;

CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_take(seq text, OUT number bigint, OUT label text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $snowfence$
DECLARE
  d      jsonb;       -- the definition
  gen    bigint;      -- its generation
  back   boolean;     -- something other than Snowfence wrote a row
  mine   text;        -- who this server is, and which data it has, as Go writes it
  day    date;
  at     bigint := -2; -- the node of the record that counts: a period, or the definition itself
  low    bigint := 0;  -- ordinal at which the period begins
  most   bigint;       -- how many ordinals there are
  ord    bigint;
  writer xid;          -- who wrote the row: this transaction, or a savepoint in it
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE 'snowfence: this server is a standby: connect to the primary' USING ERRCODE = 'read_only_sql_transaction';
  ELSIF current_setting('fsync') = 'off' THEN
    RAISE 'snowfence: a power failure forgets numbers: set fsync=on' USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  SELECT l.data::jsonb, l.generation, l.xmin <> l.xid INTO d, gen, back FROM {{Schema}}.snowfence_lease l
    WHERE l.namespace = '#' || seq AND l.node = -2;
  IF d IS NULL OR d ? 'deleted' THEN
    RAISE 'snowfence: there is no sequence "%" in this database: create it', seq USING ERRCODE = 'undefined_object';
  ELSIF d->'moved' ?| '{to,from}' THEN
    RAISE 'snowfence: sequence "%" was moved to another store, or the move is not complete', seq
      USING ERRCODE = 'object_not_in_prerequisite_state';
  ELSIF d->>'mode' <> 'strict' THEN
    RAISE 'snowfence: the mode of sequence "%" is %: make a strict one that starts above it', seq, d->>'mode'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  ELSIF d - '{{{Keys}}}'::text[] <> '{}' THEN
    RAISE 'snowfence: sequence "%" is of a later version: print these functions with a newer program', seq
      USING ERRCODE = 'feature_not_supported';
  END IF;
  SELECT format('postgres:%s:%s:%s.%s:%s', (SELECT system_identifier FROM pg_control_system()),
      ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint,
      (SELECT oid FROM pg_database WHERE datname = current_database()), m.tableoid, m.value),
    back OR m.xmin <> m.xid INTO mine, back FROM {{Schema}}.snowfence_meta m WHERE m.name = 'id';
  IF back IS NOT FALSE THEN
    RAISE 'snowfence: sequence "%": something other than Snowfence wrote rows, so that numbers may be lost', seq
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run "snowfence sequence show", which says what to confirm.';
  ELSIF d->>'after_failover' <> '-1' AND NOT (SELECT bool_and(coalesce(was IN (id, '-'), false))
      FROM unnest(string_to_array(mine, ':'), string_to_array(d->>'identity', ':')) AS x (id, was)) THEN
    RAISE 'snowfence: sequence "%": the database may have lost numbers: it was %, and is %', seq, d->>'identity', mine
      USING ERRCODE = 'object_not_in_prerequisite_state',
      HINT = 'Find a floor beyond all numbers that were given out, and run "snowfence sequence confirm". '
        'If the sequence skips numbers after a failover, the next "snowfence sequence next" does it.';
  END IF;
  most := div((d->>'max')::numeric - (d->>'start')::numeric, (d->>'step')::numeric) + 1;
  IF d ? 'pattern' THEN
    PERFORM set_config('timezone', d->>'zone', true);
    day := clock_timestamp();
    at := (SELECT x.period FROM {{Schema}}.snowfence_dated(d->>'pattern', day, 0) x);
    IF at < (d->>'open')::bigint THEN
      RAISE 'snowfence: sequence "%": period % was closed when the sequence was confirmed', seq, at
        USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF at <= (d->>'through')::bigint THEN
      low := coalesce((d->>'floor')::bigint, 0);
    END IF;
    -- A confirmation writes the definition alone: from here on it waits for this transaction.
    PERFORM FROM {{Schema}}.snowfence_lease l WHERE l.namespace = '#' || seq AND l.node = -2 AND l.generation = gen FOR SHARE;
    IF NOT FOUND THEN
      RAISE 'snowfence: sequence "%" was changed: run the transaction again', seq USING ERRCODE = 'serialization_failure';
    END IF;
    INSERT INTO {{Schema}}.snowfence_lease AS l (namespace, node, nonce, revision, generation, run_from, until, prev_until,
        holder, label, veto, written_at, data)
      VALUES ('#' || seq, at, 'new', 0, gen, 0, 0, 0, '', '', '', date_part('epoch', clock_timestamp()) * 1000, '')
      ON CONFLICT DO NOTHING RETURNING l.xmin INTO writer;
    IF FOUND THEN
      UPDATE {{Schema}}.snowfence_lease l SET xid = writer WHERE l.namespace = '#' || seq AND l.node = at;
      UPDATE {{Schema}}.snowfence_meta m SET value = (m.value::bigint + 1)::text, xid = writer
        WHERE m.name = 'rows' AND m.xmin = m.xid;
    END IF;
  END IF;
  UPDATE {{Schema}}.snowfence_lease l
    SET nonce = md5(concat(random(), clock_timestamp(), pg_backend_pid())) || '.' || (l.revision + 1), revision = l.revision + 1,
      prev_until = greatest(l.run_from, low), run_from = greatest(l.run_from, low) + 1,
      xid = (txid_current() & 4294967295)::text::xid
    WHERE l.namespace = '#' || seq AND l.node = at AND l.xmin = l.xid AND (l.generation = gen OR at <> -2)
    RETURNING l.prev_until, l.xmin INTO ord, writer;
  IF NOT FOUND AND at = -2 THEN
    RAISE 'snowfence: sequence "%" was changed: run the transaction again', seq USING ERRCODE = 'serialization_failure';
  ELSIF NOT FOUND THEN
    RAISE 'snowfence: sequence "%": something other than Snowfence wrote period %, so that numbers may be lost', seq, at
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run "snowfence sequence show", which says what to confirm.';
  ELSIF ord >= most THEN
    RAISE 'snowfence: sequence "%" has no number left up to max %: raise max, or use another sequence', seq, d->>'max'
      USING ERRCODE = 'sequence_generator_limit_exceeded';
  END IF;
  -- In a savepoint the row would look like one that was put back.
  UPDATE {{Schema}}.snowfence_lease l SET xid = l.xmin WHERE l.namespace = '#' || seq AND l.node = at AND l.xid <> writer;
  IF current_setting('synchronous_commit') = 'off' THEN -- a crash would bring the number again
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  number := (d->>'start')::numeric + (d->>'step')::numeric * ord;
  label := number;
  IF d ? 'pattern' THEN
    label := (SELECT x.label FROM {{Schema}}.snowfence_dated(d->>'pattern', day, number) x);
  END IF;
END
$snowfence$;

-- The next number. It is used if the transaction commits, and comes again if it is rolled back.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_serial(seq text) RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $snowfence$ SELECT x.number FROM {{Schema}}.snowfence_take(seq) x $snowfence$;

-- The same, as the text of a dated sequence.
CREATE OR REPLACE FUNCTION {{Schema}}.snowfence_serial_text(seq text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $snowfence$ SELECT x.label FROM {{Schema}}.snowfence_take(seq) x $snowfence$;

REVOKE ALL ON FUNCTION {{Schema}}.snowfence_take(text), {{Schema}}.snowfence_serial(text), {{Schema}}.snowfence_serial_text(text),
  {{Schema}}.snowfence_dated(text, date, bigint) FROM PUBLIC;
COMMIT;
