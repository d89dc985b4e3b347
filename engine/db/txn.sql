-- The frame of a transaction without a fence, which goes in one trip: a compound that ends in COMMIT or in a verdict. A
-- compound that lands late must be harmless by its own guards. @t is the time of the transaction. @s is its stamp:
-- every write of an existing reservation that changes its state, its lines or due_at names the `changed` that was read
-- before the first write of the transaction, leaves @s behind in its place, and counts the rows.

-- piece: clock_stamp
-- Microseconds since 1970 by the database's clock.
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))

-- name: txn_enter
-- Locks the writer. @s: the stamp, later than any of this writer's and than those of the rows that the transaction
-- changes. @n: the number of its event row, where it has {events} of them.
    UPDATE log_writer FORCE INDEX (PRIMARY)
       SET event_no = @n := event_no + {events}, batch_at = @t,
           stamp = @s := GREATEST(stamp + 1, {stamp_min}, {clock_stamp})
     WHERE writer_id = {writer} AND epoch = {epoch};

-- piece: event_columns
writer_id, event_no, stamp, at, changes

-- name: txn_log
-- The event row. {list}: its changes.
    INSERT INTO event ({event_columns}) VALUES ({writer}, @n, @s, @t, {list});

-- name: event_add (prepared, never_waits)
-- The event row of a fenced transaction. Values: (writer, changes).
INSERT INTO event ({event_columns}) VALUES (?, @n, @s, @t, ?);

-- name: txn_repeatable
-- The next transaction with a fence reads repeatably.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- name: txn_end
-- Ends what looks have begun.
ROLLBACK;

-- name: txn_frame
-- The leading ROLLBACK: an interrupt between two inner statements leaves the compound without its handler and the
-- transaction open, and the next START TRANSACTION would commit half of it.
BEGIN NOT ATOMIC
  DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN

-- name: txn_guard
-- A guarded write changes exactly the rows it expects, or all of it is undone and the verdict says why.
    IF ROW_COUNT() <> {expected} THEN SET verdict = {verdict}; LEAVE work; END IF;

-- name: txn_frame_end
  END work;
  IF verdict = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
  SELECT verdict;
END
