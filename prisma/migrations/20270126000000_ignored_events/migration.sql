-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- Ignored events in the order of the list, whatever else a filter names. An event has an entry once it is ignored: parking, freezing and
-- delivering one write none, and change no column that the index names.
create index dlq_events_ignored on dlq_events (id) where settled = 1;
