-- The frame of a guarded transaction in one trip: a compound that ends in COMMIT or in a verdict. A late one must be harmless by
-- its own guards. {count} {verdict} are numbers. @t is the time of the transaction.

-- name: guard_begin
-- The leading ROLLBACK: an interrupt between two inner statements leaves the compound without its handler and the
-- transaction open, and the next START TRANSACTION would commit half of it.
BEGIN NOT ATOMIC
  DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN

-- name: guard_expect
-- A guarded write changes exactly the rows it expects, or all of it is undone and the verdict says why.
    IF ROW_COUNT() <> {count} THEN SET verdict = {verdict}; LEAVE work; END IF;

-- name: guard_end
  END work;
  IF verdict = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
  SELECT verdict;
END
