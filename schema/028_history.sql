-- The history of an order is read from the log by links, so no event pays for an index.
--
-- last_event: the event row of the order's last change that has an event: the writer, behind it 40 bits of event_no.
-- Each record of an order names the row before in the same way. NULL: no change since this version. A row that is no
-- longer kept, or that was never written because no events were kept, ends the history.

ALTER TABLE reservation ADD COLUMN IF NOT EXISTS last_event BIGINT UNSIGNED NULL;
