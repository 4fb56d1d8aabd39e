-- A new ID with a number of yours in it, as in snowfence_tag(snowfence_next(), 7).
DROP FUNCTION IF EXISTS {{Schema}}snowfence_tag;;
CREATE FUNCTION {{Schema}}snowfence_tag(id BIGINT, tag BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  IF tag < 0 OR tag > {{Mask}} THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowfence: IDs have tags from 0 to {{Mask}}';
  END IF;
  RETURN CAST(id & ~({{Mask}} << {{Shift}}) | tag << {{Shift}} AS SIGNED);
END;;

