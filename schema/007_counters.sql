-- Table counter has, from this step on, the events counted by processes without /metrics, until a service takes them
-- over. Totals of the time before are dropped.

DELETE FROM counter;
