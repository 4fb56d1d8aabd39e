{{About}}-- Layout {{Spec}}, node {{Node}}: IDs run at most {{Lead}} ticks ahead of the clock.
-- For the client program of MariaDB or MySQL, which knows DELIMITER: mariadb DATABASE < FILE.
SET @snowfence_sql_mode = @@sql_mode, sql_mode = 'STRICT_ALL_TABLES', @snowfence_db = DATABASE(); -- a procedure has its own

-- The position is the AUTO_INCREMENT counter of this table: tick × {{Count}} + slot. The table is always empty.
-- The second column keeps connections apart that put in the same position.
CREATE TABLE IF NOT EXISTS {{Schema}}snowfence_position (
  position   BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  connection BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (position, connection)
) ENGINE = InnoDB COMMENT = 'never truncate: IDs would repeat';

CREATE TABLE IF NOT EXISTS {{Schema}}snowfence_state (
  one    TINYINT NOT NULL PRIMARY KEY,
  layout VARCHAR(500) NOT NULL,
  node   BIGINT NOT NULL,
  server VARCHAR(100) NOT NULL -- which one, with which table, the position was last known to be right for
) ENGINE = InnoDB;

DELIMITER ;;
DROP PROCEDURE IF EXISTS {{Schema}}snowfence_setup;;
CREATE PROCEDURE {{Schema}}snowfence_setup() MODIFIES SQL DATA
BEGIN
{{Check}}  IF @@binlog_format = 'STATEMENT' THEN -- a replica would make other IDs, or refuse the numbers in the log
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: replicas of statements would have other IDs: SET GLOBAL binlog_format = ROW, and connect again';
  END IF;
  IF EXISTS (SELECT 1 FROM {{Schema}}snowfence_state WHERE layout <> '{{Spec}}' OR node <> {{Node}}) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: here are functions of another node or layout: retire these, and print them with another --schema';
  END IF;
  IF {{Anew}} OR (SELECT COUNT(*) FROM {{Schema}}snowfence_state) = 0 THEN -- a lower start moves nothing
    INSERT INTO {{Schema}}snowfence_position VALUES ({{Start}}, CONNECTION_ID());
    DELETE FROM {{Schema}}snowfence_position WHERE position = {{Start}} AND connection = CONNECTION_ID();
  END IF;
  IF (SELECT COUNT(*) FROM {{Schema}}snowfence_state) = 0 THEN
    INSERT INTO {{Schema}}snowfence_state VALUES (1, '{{Spec}}', {{Node}}, {{Server}});
  END IF;
END;;
CALL {{Schema}}snowfence_setup();;
DROP PROCEDURE {{Schema}}snowfence_setup;;

-- MariaDB replaces functions, and keeps the rights of users. MySQL 8 drops them: grant EXECUTE again there.
-- Refuses to make IDs where the position may be older than IDs that were made from it.
/*!80000 DROP FUNCTION IF EXISTS {{Schema}}snowfence_check */;;
CREATE /*M! OR REPLACE */ FUNCTION {{Schema}}snowfence_check() RETURNS VARCHAR(512) NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
  IF CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF') OR @@innodb_read_only THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: this server is read_only, as replicas are: connect to the primary';
  END IF;
  IF @@binlog_format = 'STATEMENT' THEN -- a replica would make other IDs, or refuse the numbers in the log
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: replicas of statements would have other IDs: SET GLOBAL binlog_format = ROW, and connect again';
  END IF;
  IF @@innodb_flush_log_at_trx_commit NOT IN (1, 3) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: IDs could repeat after a crash: SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the configuration';
  END IF;
  IF (SELECT COUNT(*) FROM {{Schema}}snowfence_state WHERE one = 1 AND server = {{Server}}) = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the server or its data changed since the last ID: when the old server is gone, CALL snowfence_confirm(10)';
  END IF;
  RETURN HEX(DATABASE()); -- of the functions
END;;

-- The tick of the clock. SYSDATE is now, in local time; NOW is when the statement began, or what the session set.
/*!80000 DROP FUNCTION IF EXISTS {{Schema}}snowfence_now */;;
CREATE /*M! OR REPLACE */ FUNCTION {{Schema}}snowfence_now() RETURNS BIGINT NOT DETERMINISTIC NO SQL SQL SECURITY DEFINER
BEGIN
  DECLARE here DATETIME(6) DEFAULT SYSDATE(6);
  DECLARE utc BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + TIMESTAMPDIFF(MICROSECOND, NOW(6), here);
  -- Summer time may differ between the two: back in local time, it is an hour off then.
  RETURN (utc - TIMESTAMPDIFF(MICROSECOND, here, FROM_UNIXTIME(utc * 0.000001)) - ({{Epoch}})) DIV {{Tick}};
END;;

-- A new ID, also in @snowfence_id. It counts when the transaction commits.
/*!80000 DROP FUNCTION IF EXISTS {{Schema}}snowfence_next */;;
CREATE /*M! OR REPLACE */ FUNCTION {{Schema}}snowfence_next() RETURNS BIGINT NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE taken BIGINT UNSIGNED;
  DECLARE moved BIGINT UNSIGNED;
  DECLARE ahead BIGINT;
  DECLARE waited BIGINT DEFAULT 0;
  DECLARE since BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6));
  DECLARE now BIGINT DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + since - ({{Epoch}})) DIV {{Tick}};
  IF since NOT BETWEEN 0 AND 1799999999 THEN -- summer time may have changed in between
    SET now = {{Schema}}snowfence_now();
  END IF;
  -- The next row would get that number: an ID again, or the end of all numbers.
  IF @@insert_id > 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: insert_id is set, and an ID could repeat: leave it out, or SET insert_id = 0';
  END IF;
  IF COALESCE(@snowfence_checked, '') <> HEX(DATABASE()) THEN -- once a connection, or after functions of another schema
    SET @snowfence_checked = {{Schema}}snowfence_check();
  END IF;
  IF now > {{MaxTick}} THEN -- or the counter would stay above all times when the clock is right again
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the layout has no ID for this time';
  END IF;
  -- InnoDB gives no number of the counter twice, also none that was rolled back.
  INSERT INTO {{Schema}}snowfence_position (connection) VALUES (CONNECTION_ID());
  SET taken = LAST_INSERT_ID();
  DELETE FROM {{Schema}}snowfence_position WHERE position = taken AND connection = CONNECTION_ID();
  IF taken DIV {{Count}} < now THEN
    -- A number that is put in moves the counter behind it, and is no ID itself: a neighbour can put in the same one.
    -- The slot goes on where it was, so that the low bits of IDs are even.
    SET moved = now * {{Count}} + taken MOD {{Count}};
    INSERT INTO {{Schema}}snowfence_position VALUES (moved, CONNECTION_ID());
    DELETE FROM {{Schema}}snowfence_position WHERE position = moved AND connection = CONNECTION_ID();
    INSERT INTO {{Schema}}snowfence_position (connection) VALUES (CONNECTION_ID());
    SET taken = LAST_INSERT_ID();
    DELETE FROM {{Schema}}snowfence_position WHERE position = taken AND connection = CONNECTION_ID();
  END IF;
  IF taken DIV {{Count}} > {{MaxTick}} THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the layout has no ID for this time';
  END IF;
  SET ahead = CAST(taken DIV {{Count}} AS SIGNED) - now - {{Lead}};
  WHILE ahead > 0 DO
    SET waited = waited + ahead;
    IF waited > {{MaxWaitTicks}} THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: IDs are too far ahead of the clock, which stepped back, or very many were made: wait, or set it right';
    END IF;
    DO SLEEP(ahead * {{Tick}} / 1000000);
    SET ahead = CAST(taken DIV {{Count}} AS SIGNED) - {{Schema}}snowfence_now() - {{Lead}};
  END WHILE;
  SET @snowfence_id = CAST((taken DIV {{Count}}) << {{TimeShift}} | ({{First}} + taken MOD {{Count}}) << {{SeqShift}} | {{NodeBits}} AS SIGNED);
  RETURN @snowfence_id;
END;;

{{Tag}}-- What an ID is made of, as JSON. NULL for a number that is no ID of the layout. Times are in UTC.
/*!80000 DROP FUNCTION IF EXISTS {{Schema}}snowfence_decode */;;
CREATE /*M! OR REPLACE */ FUNCTION {{Schema}}snowfence_decode(id BIGINT) RETURNS JSON DETERMINISTIC NO SQL
BEGIN
  DECLARE tick BIGINT DEFAULT id >> {{TimeShift}} & {{MaxTick}};
{{Foreign}}  RETURN IF(id IS NULL, NULL, JSON_OBJECT(
    'made_at', CAST(TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL tick * {{Tick}} + {{Epoch}} MICROSECOND AS CHAR),
    'tick', tick + 0,
    'node', {{Parts}},
    'sequence', {{Sequence}}{{TagPart}}));
END;;

-- The IDs of a span of time, in UTC: WHERE id >= snowfence_from(a) AND id < snowfence_until(b).
/*!80000 DROP FUNCTION IF EXISTS {{Schema}}snowfence_from */;;
CREATE /*M! OR REPLACE */ FUNCTION {{Schema}}snowfence_from(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  DECLARE since BIGINT DEFAULT GREATEST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t) - ({{Epoch}}), 0);
  DECLARE tick BIGINT DEFAULT since DIV {{Tick}} + (since MOD {{Tick}} > 0);
  RETURN IF(tick > {{MaxTick}}, {{End}}, CAST(tick << {{TimeShift}} AS SIGNED));
END;;

/*!80000 DROP FUNCTION IF EXISTS {{Schema}}snowfence_until */;;
CREATE /*M! OR REPLACE */ FUNCTION {{Schema}}snowfence_until(t DATETIME(6)) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
{{Until}}
END;;

-- The operator's word that no other server makes IDs of this node any more. Clocks of the two may differ by so many
-- seconds: all IDs from now on lie above what the old one can have made. It shows the time of the first.
DROP PROCEDURE IF EXISTS {{Schema}}snowfence_confirm;;
CREATE PROCEDURE {{Schema}}snowfence_confirm(seconds DECIMAL(8, 3)) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE taken BIGINT UNSIGNED;
  DECLARE start BIGINT DEFAULT {{Schema}}snowfence_now() + CEIL(seconds * 1000000 / {{Tick}}) + {{Lead}} + 1;
  IF seconds IS NULL OR seconds < 0 OR seconds > 86400 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: give the largest difference of two clocks, 0 to 86400 seconds';
  END IF;
  IF start > {{MaxTick}} THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the layout has no ID for this time';
  END IF;
  -- First the position: whoever sees the new server's name finds it moved.
  INSERT INTO {{Schema}}snowfence_position VALUES (start * {{Count}}, CONNECTION_ID());
  DELETE FROM {{Schema}}snowfence_position WHERE position = start * {{Count}} AND connection = CONNECTION_ID();
  INSERT INTO {{Schema}}snowfence_position (connection) VALUES (CONNECTION_ID());
  SET taken = LAST_INSERT_ID();
  DELETE FROM {{Schema}}snowfence_position WHERE position = taken AND connection = CONNECTION_ID();
  IF taken DIV {{Count}} > {{MaxTick}} THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: the position is above all times of the layout, and never goes back: print the functions of another node';
  END IF;
  UPDATE {{Schema}}snowfence_state SET server = {{Server}};
  SELECT TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL GREATEST(start, taken DIV {{Count}}) * {{Tick}} + {{Epoch}} MICROSECOND AS ids_from;
END;;
{{Trigger}}DELIMITER ;
SET sql_mode = @snowfence_sql_mode;
