{{About}}-- Numbers of strict sequences inside the caller's transaction: from the records from which Go's SequenceTx takes.
-- For the client program of MariaDB, which knows DELIMITER: mariadb DATABASE < FILE.
SET @snowfence_sql_mode = @@sql_mode, sql_mode = 'STRICT_ALL_TABLES';
DO (SELECT COUNT(*) FROM {{Schema}}snowfence_lease); -- fails where there are no sequences: create one first
DELIMITER ;;

-- The period of a day, and the text of a number in it.
CREATE OR REPLACE PROCEDURE {{Schema}}snowfence_dated(pattern VARCHAR(100) CHARACTER SET utf8mb4, day DATE, number BIGINT,
  OUT period BIGINT, OUT label VARCHAR(200) CHARACTER SET utf8mb4) NO SQL SQL SECURITY DEFINER
BEGIN
  DECLARE starts INT DEFAULT COALESCE(NULLIF(REGEXP_REPLACE(REGEXP_SUBSTR(pattern, '[{]fyy?(end)?:[0-9]+[}]'), '[^0-9]', ''), ''), 1);
  DECLARE fiscal DATE DEFAULT day - INTERVAL DAYOFMONTH(day) - 1 DAY - INTERVAL starts - 1 MONTH;
  DECLARE iso INT DEFAULT YEARWEEK(day, 3);
  DECLARE years INT DEFAULT IF(INSTR(pattern, '{week}') > 0, iso DIV 100, YEAR(day));
  DECLARE begun INT DEFAULT YEAR(fiscal);
  DECLARE ended INT DEFAULT begun + (starts > 1);
  DECLARE width INT DEFAULT COALESCE(NULLIF(REGEXP_REPLACE(REGEXP_SUBSTR(pattern, '[{]n:[0-9]+'), '[^0-9]', ''), ''), 0);
  DECLARE digits VARCHAR(200);
  DECLARE i, v, s INT DEFAULT 0;
  SET period = CASE WHEN INSTR(pattern, '{day}') > 0 THEN DATE_FORMAT(day, '%Y%m%d')
    WHEN INSTR(pattern, '{week}') > 0 THEN iso
    WHEN INSTR(pattern, '{month}') > 0 THEN DATE_FORMAT(day, '%Y%m')
    WHEN INSTR(pattern, '{quarter}') > 0 THEN begun * 10 + QUARTER(fiscal)
    ELSE begun END;
  IF NOT pattern REGEXP '[{](year|fy:|fyend:)' AND (INSTR(pattern, '{yy}') > 0 AND years DIV 100 <> 20
      OR INSTR(pattern, '{fyy:') > 0 AND begun DIV 100 <> 20 OR INSTR(pattern, '{fyyend:') > 0 AND ended DIV 100 <> 20) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the pattern has no place for this year: use another sequence';
  END IF;
  SET label = REPLACE(REPLACE(pattern, '{year}', years), '{yy}', RIGHT(years, 2)),
    label = REGEXP_REPLACE(REGEXP_REPLACE(label, '[{]fy:[0-9]+[}]', begun), '[{]fyy:[0-9]+[}]', RIGHT(begun, 2)),
    label = REGEXP_REPLACE(REGEXP_REPLACE(label, '[{]fyend:[0-9]+[}]', ended), '[{]fyyend:[0-9]+[}]', RIGHT(ended, 2)),
    label = REGEXP_REPLACE(label, '[{]quarter(:shown)?[}]', QUARTER(fiscal)),
    label = REGEXP_REPLACE(label, '[{]month(:shown)?[}]', DATE_FORMAT(day, '%m')),
    label = REGEXP_REPLACE(label, '[{]day(:shown)?[}]', DATE_FORMAT(day, '%d')),
    label = REPLACE(label, '{week}', LPAD(iso % 100, 2, '0')),
    label = REGEXP_REPLACE(label, '[{]n(:[0-9]+[+]?)?[}]', LPAD(number, GREATEST(width, LENGTH(number)), '0'));
  IF INSTR(label, '{luhn}') > 0 THEN
    SET digits = REVERSE(REGEXP_REPLACE(label, '[^0-9]', ''));
    WHILE i < LENGTH(digits) DO
      SET i = i + 1, v = SUBSTR(digits, i, 1) * (1 + i % 2), s = s + v DIV 10 + v % 10;
    END WHILE;
    SET label = REPLACE(label, '{luhn}', (10 - s % 10) % 10);
  END IF;
END;;

CREATE OR REPLACE PROCEDURE {{Schema}}snowfence_take(seq VARCHAR(64) CHARACTER SET utf8mb4, OUT number BIGINT, OUT label VARCHAR(200) CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE k VARBINARY(255) DEFAULT CONCAT('#', seq);
  DECLARE d LONGTEXT CHARACTER SET utf8mb4;               -- the definition
  DECLARE gen, now_gen, most, ord, low BIGINT DEFAULT 0;
  DECLARE at BIGINT DEFAULT -2;                           -- the node of the record that counts: a period, or the definition itself
  DECLARE mine, pattern, zone VARCHAR(255) CHARACTER SET utf8mb4; -- who this server is, and which data it has, as Go writes it
  DECLARE day DATE;
  DECLARE why VARCHAR(255) CHARACTER SET utf8mb4;
  SELECT CONVERT(l.data USING utf8mb4), l.generation INTO d, gen FROM {{Schema}}snowfence_lease l WHERE l.namespace = k AND l.node = -2;
  -- The row of the identity as it is now, also in a transaction that sees the past.
  SELECT CONCAT('mysql:', @@server_id, ':', m.value, ':', UNIX_TIMESTAMP(m.row_start), ':', (SELECT UNIX_TIMESTAMP(create_time)
      FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowfence_lease'))
    INTO mine FROM {{Schema}}snowfence_meta m WHERE m.name = 'id' LOCK IN SHARE MODE;
  SET pattern = JSON_VALUE(d, '$.pattern'), zone = JSON_VALUE(d, '$.zone');
  SET why = CASE
    WHEN CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF') OR @@innodb_read_only THEN 'this server is read_only, as replicas are: connect to the primary'
    WHEN @@innodb_flush_log_at_trx_commit NOT IN (1, 3) THEN 'a crash forgets numbers: SET GLOBAL innodb_flush_log_at_trx_commit = 1'
    WHEN @@log_bin = 1 AND @@sync_binlog <> 1 THEN 'a power failure forgets numbers: SET GLOBAL sync_binlog = 1'
    WHEN @@log_bin = 1 AND @@binlog_format = 'STATEMENT' THEN 'replicas would run this again: SET GLOBAL binlog_format = ROW'
    WHEN d IS NULL OR JSON_EXISTS(d, '$.deleted') THEN 'there is no such sequence in this database: create it'
    WHEN JSON_EXISTS(d, '$.moved.to') OR JSON_EXISTS(d, '$.moved.from') THEN 'the sequence was moved, or the move is not complete'
    WHEN JSON_VALUE(d, '$.mode') <> 'strict' THEN 'the sequence is not strict: make a strict one that starts above it'
    WHEN JSON_LENGTH(JSON_REMOVE(d, {{Keys}})) > 0 THEN 'the sequence is of a later version: print this with a newer program'
    WHEN mine IS NULL THEN 'the row of the identity is gone, or the table changes: try again'
    WHEN JSON_VALUE(d, '$.after_failover') <> '-1' AND BINARY mine <> BINARY JSON_VALUE(d, '$.identity')
      THEN 'the database may have lost numbers: find a floor for snowfence sequence confirm; if it skips numbers, snowfence sequence next does it' END;
  IF why IS NULL AND pattern IS NOT NULL THEN
    SET day = IF(zone = 'UTC', UTC_TIMESTAMP(), CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', zone));
    IF day IS NULL THEN
      SET why = 'the server lacks the zone: mariadb-tzinfo-to-sql /usr/share/zoneinfo | mariadb mysql';
    ELSE
      CALL {{Schema}}snowfence_dated(pattern, day, 0, at, label);
      IF at < CAST(JSON_VALUE(d, '$.open') AS SIGNED) THEN
        SET why = 'this period was closed when the sequence was confirmed';
      END IF;
    END IF;
  END IF;
  IF why IS NOT NULL THEN
    SET why = CONCAT('snowfence: sequence ', COALESCE(seq, 'NULL'), ': ', why);
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = why;
  END IF;
  SET most = (CAST(JSON_VALUE(d, '$.max') AS DECIMAL(30)) - CAST(JSON_VALUE(d, '$.start') AS DECIMAL(30)))
    DIV CAST(JSON_VALUE(d, '$.step') AS DECIMAL(30)) + 1;
  IF pattern IS NOT NULL THEN
    IF at <= CAST(JSON_VALUE(d, '$.through') AS SIGNED) THEN
      SET low = COALESCE(JSON_VALUE(d, '$.floor'), 0);
    END IF;
    -- A confirmation writes the definition alone: from here on it waits for this transaction.
    SELECT l.generation INTO now_gen FROM {{Schema}}snowfence_lease l WHERE l.namespace = k AND l.node = -2 LOCK IN SHARE MODE;
    IF now_gen <> gen THEN
      SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = 'snowfence: the sequence was changed: run the transaction again';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM {{Schema}}snowfence_lease l WHERE l.namespace = k AND l.node = at) THEN
      BEGIN -- a trigger takes any other row for one that was put back
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
          SET @snowfence_swap = NULL;
          RESIGNAL;
        END;
        SET @snowfence_swap = 1;
        INSERT INTO {{Schema}}snowfence_lease (namespace, node, nonce, revision, generation, run_from, until, prev_until, holder,
            label, veto, written_at, data) VALUES (k, at, 'new', 0, gen, 0, 0, 0, '', '', '', UNIX_TIMESTAMP() * 1000, '')
          ON DUPLICATE KEY UPDATE node = at;
        SET @snowfence_swap = NULL;
      END;
    END IF;
  END IF;
  -- Assignments go from left to right: run_from is the new prev_until and one, while numbers are left.
  UPDATE {{Schema}}snowfence_lease l SET l.nonce = CONCAT(REPLACE(UUID(), '-', ''), '.', l.revision + 1), l.revision = l.revision + 1,
      l.prev_until = GREATEST(l.run_from, low), l.run_from = l.prev_until + (l.prev_until < most)
    WHERE l.namespace = k AND l.node = at AND (l.generation = gen OR at <> -2);
  IF ROW_COUNT() = 0 THEN
    SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = 'snowfence: the sequence was changed: run the transaction again';
  END IF;
  SELECT l.prev_until INTO ord FROM {{Schema}}snowfence_lease l WHERE l.namespace = k AND l.node = at;
  IF ord >= most THEN
    SET why = CONCAT('snowfence: sequence ', seq, ' has no number left: raise max, or use another sequence');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = why;
  END IF;
  SET number = CAST(JSON_VALUE(d, '$.start') AS DECIMAL(30)) + CAST(JSON_VALUE(d, '$.step') AS DECIMAL(30)) * ord, label = number;
  IF pattern IS NOT NULL THEN
    CALL {{Schema}}snowfence_dated(pattern, day, number, at, label);
  END IF;
END;;

-- The next number. It is used if the transaction commits, and comes again if it is rolled back.
CREATE OR REPLACE FUNCTION {{Schema}}snowfence_serial(seq VARCHAR(64) CHARACTER SET utf8mb4) RETURNS BIGINT NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE number BIGINT;
  DECLARE label VARCHAR(200) CHARACTER SET utf8mb4;
  CALL {{Schema}}snowfence_take(seq, number, label);
  RETURN number;
END;;

-- The same, as the text of a dated sequence.
CREATE OR REPLACE FUNCTION {{Schema}}snowfence_serial_text(seq VARCHAR(64) CHARACTER SET utf8mb4) RETURNS VARCHAR(200) CHARACTER SET utf8mb4
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE number BIGINT;
  DECLARE label VARCHAR(200) CHARACTER SET utf8mb4;
  CALL {{Schema}}snowfence_take(seq, number, label);
  RETURN label;
END;;
DELIMITER ;
SET sql_mode = @snowfence_sql_mode;
