{{- range .About}}-- {{comment .}}
{{end -}}
{{- $s := ""}}{{if .Schema}}{{$s = printf "%s." (name .Schema)}}{{end -}}
-- Layout {{.Spec}}, node {{.Node}}: IDs run at most {{.Lead}} ticks ahead of the clock.
-- For the client program of MariaDB or MySQL, which knows DELIMITER: mariadb DATABASE < FILE.
SET @snowfence_sql_mode = @@sql_mode, sql_mode = 'STRICT_ALL_TABLES';

-- The position is the AUTO_INCREMENT counter of this table: tick × {{.Count}} + slot. The table is always empty.
-- The second column keeps connections apart that put in the same position.
CREATE TABLE IF NOT EXISTS {{$s}}snowfence_position (
  position   BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  connection BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (position, connection)
) ENGINE = InnoDB COMMENT = 'never truncate: IDs would repeat';

CREATE TABLE IF NOT EXISTS {{$s}}snowfence_state (
  one    TINYINT NOT NULL PRIMARY KEY,
  layout VARCHAR(500) NOT NULL,
  node   BIGINT NOT NULL,
  server VARCHAR(100) NOT NULL -- which one, with which table, the position was last known to be right for
) ENGINE = InnoDB;

DELIMITER ;;
DROP PROCEDURE IF EXISTS {{$s}}snowfence_setup;;
CREATE PROCEDURE {{$s}}snowfence_setup() MODIFIES SQL DATA
BEGIN
  {{template "statements"}}
  IF EXISTS (SELECT 1 FROM {{$s}}snowfence_state WHERE layout <> {{text .Spec}} OR node <> {{.Node}}) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: here are the functions of another node or layout: print these with another --schema';
  END IF;
  IF (SELECT COUNT(*) FROM {{$s}}snowfence_state) = 0 THEN
    INSERT INTO {{$s}}snowfence_position VALUES ({{.Start}}, CONNECTION_ID());
    DELETE FROM {{$s}}snowfence_position WHERE position = {{.Start}} AND connection = CONNECTION_ID();
    INSERT INTO {{$s}}snowfence_state VALUES (1, {{text .Spec}}, {{.Node}}, {{template "server"}});
  END IF;
END;;
CALL {{$s}}snowfence_setup();;
DROP PROCEDURE {{$s}}snowfence_setup;;

-- Refuses to make IDs where the position may be older than IDs that were made from it.
DROP FUNCTION IF EXISTS {{$s}}snowfence_check;;
CREATE FUNCTION {{$s}}snowfence_check() RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
  IF CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: this server is read_only, as replicas are: connect to the primary';
  END IF;
  {{template "statements"}}
  IF @@innodb_flush_log_at_trx_commit NOT IN (1, 3) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: IDs could repeat after a crash: SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the configuration';
  END IF;
  IF (SELECT COUNT(*) FROM {{$s}}snowfence_state WHERE one = 1 AND server = {{template "server"}}) = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: another server or other data than IDs were made from: when the old one is gone, CALL snowfence_confirm(10)';
  END IF;
  RETURN 1;
END;;

-- A new ID, also in @snowfence_id. It counts when the transaction commits.
DROP FUNCTION IF EXISTS {{$s}}snowfence_next;;
CREATE FUNCTION {{$s}}snowfence_next() RETURNS BIGINT NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE taken BIGINT UNSIGNED;
  DECLARE moved BIGINT UNSIGNED;
  DECLARE ahead BIGINT;
  DECLARE waited BIGINT DEFAULT 0;
  DECLARE now BIGINT DEFAULT {{template "now" .}};
  -- The next row would get that number: an ID again, or the end of all numbers.
  IF @@insert_id > 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: insert_id is set, and an ID could repeat: leave it out, or SET insert_id = 0';
  END IF;
  IF @snowfence_checked IS NULL THEN -- once a connection
    SET @snowfence_checked = {{$s}}snowfence_check();
  END IF;
  -- InnoDB gives no number of the counter twice, also none that was rolled back.
  INSERT INTO {{$s}}snowfence_position (connection) VALUES (CONNECTION_ID());
  SET taken = LAST_INSERT_ID();
  DELETE FROM {{$s}}snowfence_position WHERE position = taken AND connection = CONNECTION_ID();
  IF taken DIV {{.Count}} < now THEN
    -- A number that is put in moves the counter behind it, and is no ID itself: a neighbour can put in the same one.
    -- The slot goes on where it was, so that the low bits of IDs are even.
    SET moved = now * {{.Count}} + taken MOD {{.Count}};
    INSERT INTO {{$s}}snowfence_position VALUES (moved, CONNECTION_ID());
    DELETE FROM {{$s}}snowfence_position WHERE position = moved AND connection = CONNECTION_ID();
    INSERT INTO {{$s}}snowfence_position (connection) VALUES (CONNECTION_ID());
    SET taken = LAST_INSERT_ID();
    DELETE FROM {{$s}}snowfence_position WHERE position = taken AND connection = CONNECTION_ID();
  END IF;
  IF taken DIV {{.Count}} > {{.MaxTick}} THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the layout has no ID for this time';
  END IF;
  SET ahead = CAST(taken DIV {{.Count}} AS SIGNED) - now - {{.Lead}};
  WHILE ahead > 0 DO
    SET waited = waited + ahead;
    IF waited > {{.MaxWaitTicks}} THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: IDs are too far ahead of the clock, which stepped back, or very many were made: wait, or set it right';
    END IF;
    DO SLEEP(ahead * {{.Tick}} / 1000000);
    SET ahead = CAST(taken DIV {{.Count}} AS SIGNED) - {{template "now" .}} - {{.Lead}};
  END WHILE;
  SET @snowfence_id = CAST((taken DIV {{.Count}}) << {{.TimeShift}} | ({{.First}} + taken MOD {{.Count}}) << {{.SeqShift}} | {{.NodeBits}} AS SIGNED);
  RETURN @snowfence_id;
END;;

-- What an ID is made of, as JSON. NULL for a number that is no ID of the layout. Times are in UTC.
DROP FUNCTION IF EXISTS {{$s}}snowfence_decode;;
CREATE FUNCTION {{$s}}snowfence_decode(id BIGINT) RETURNS JSON DETERMINISTIC NO SQL
BEGIN
  DECLARE tick BIGINT DEFAULT id >> {{.TimeShift}} & {{.MaxTick}};
  {{- if lt .Width 64}}
  IF id >> {{.Width}} <> 0 THEN
    RETURN NULL;
  END IF;
  {{- end}}
  RETURN IF(id IS NULL, NULL, JSON_OBJECT(
    'made_at', CAST(TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL tick * {{.Tick}} + {{.Epoch}} MICROSECOND AS CHAR),
    'tick', tick + 0,
    'node', {{range $i, $p := .Parts}}{{if $i}} | {{end}}(id >> {{.Shift}} & {{.Mask}}) << {{.Up}}{{else}}0{{end}},
    'sequence', {{if .SeqMask}}id >> {{.SeqShift}} & {{.SeqMask}}{{else}}0{{end}}));
END;;

-- The IDs of a span of time, in UTC: WHERE id >= snowfence_from(a) AND id < snowfence_until(b).
DROP FUNCTION IF EXISTS {{$s}}snowfence_from;;
CREATE FUNCTION {{$s}}snowfence_from(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  DECLARE since BIGINT DEFAULT GREATEST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t) - ({{.Epoch}}), 0);
  DECLARE tick BIGINT DEFAULT since DIV {{.Tick}} + (since MOD {{.Tick}} > 0);
  RETURN IF(tick > {{.MaxTick}}, {{.End}}, CAST(tick << {{.TimeShift}} AS SIGNED));
END;;

DROP FUNCTION IF EXISTS {{$s}}snowfence_until;;
CREATE FUNCTION {{$s}}snowfence_until(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  {{- if .Half}}
  -- The tick from which IDs are negative ends those that are not.
  DECLARE id BIGINT DEFAULT {{$s}}snowfence_from(t);
  RETURN IF(id = CAST({{.Half}} << {{.TimeShift}} AS SIGNED), 9223372036854775807, id);
  {{- else}}
  RETURN {{$s}}snowfence_from(t);
  {{- end}}
END;;

-- The operator's word that no other server makes IDs of this node any more. Clocks of the two may differ by so many
-- seconds: all IDs from now on lie above what the old one can have made. It shows the time of the first.
DROP PROCEDURE IF EXISTS {{$s}}snowfence_confirm;;
CREATE PROCEDURE {{$s}}snowfence_confirm(seconds DECIMAL(8, 3)) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE taken BIGINT UNSIGNED;
  DECLARE start BIGINT DEFAULT {{template "now" .}} + CEIL(seconds * 1000000 / {{.Tick}}) + {{.Lead}} + 1;
  IF seconds IS NULL OR seconds < 0 OR seconds > 86400 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: that is not how much two clocks may differ: 0 to 86400 seconds';
  END IF;
  IF start > {{.MaxTick}} THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the layout has no ID for this time';
  END IF;
  -- First the position: whoever sees the new server's name finds it moved.
  INSERT INTO {{$s}}snowfence_position VALUES (start * {{.Count}}, CONNECTION_ID());
  DELETE FROM {{$s}}snowfence_position WHERE position = start * {{.Count}} AND connection = CONNECTION_ID();
  INSERT INTO {{$s}}snowfence_position (connection) VALUES (CONNECTION_ID());
  SET taken = LAST_INSERT_ID();
  DELETE FROM {{$s}}snowfence_position WHERE position = taken AND connection = CONNECTION_ID();
  IF taken DIV {{.Count}} > {{.MaxTick}} THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the position is above all times of the layout, and never goes back: print the functions of another node';
  END IF;
  UPDATE {{$s}}snowfence_state SET server = {{template "server"}};
  SELECT TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL GREATEST(start, taken DIV {{.Count}}) * {{.Tick}} + {{.Epoch}} MICROSECOND AS ids_from;
END;;
{{- if .Column}}

-- INSERT fills a missing or zero {{comment .Column}}. LAST_INSERT_ID() stays as it was: ask for {{if .Returning}}INSERT … RETURNING or {{end}}@snowfence_id.
ALTER TABLE {{table .Table}} ALTER COLUMN {{name .Column}} SET DEFAULT 0;; -- or INSERT … SELECT could not leave it out
DROP TRIGGER IF EXISTS {{table .Trigger}};;
CREATE TRIGGER {{table .Trigger}} BEFORE INSERT ON {{table .Table}} FOR EACH ROW
BEGIN
  IF NEW.{{name .Column}} IS NULL OR NEW.{{name .Column}} = 0 THEN
    SET NEW.{{name .Column}} = {{$s}}snowfence_next();
  END IF;
END;;
{{- end}}
DELIMITER ;
SET sql_mode = @snowfence_sql_mode;
{{- define "statements"}}IF @@binlog_format = 'STATEMENT' THEN -- a replica would make other IDs, or refuse the numbers in the log
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: replicas of statements would have other IDs: SET GLOBAL binlog_format = ROW, and connect again';
  END IF;{{end}}
{{- /* A dump that is put back makes the table again, and sets the counter back. */}}
{{- define "server"}}CONCAT(@@server_id, /*!80000 ':', @@server_uuid, */ ' ', (SELECT UNIX_TIMESTAMP(create_time)
      FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowfence_position')){{end}}
{{- /* NOW is when the statement began, in UTC without summer time; SYSDATE is now. */}}
{{- define "now"}}(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - ({{.Epoch}})) DIV {{.Tick}}{{end}}
