-- Apart from the column: events can be read while the index is made.
set local lock_timeout = '500ms';

-- A filter by time of failure reads the events of its window, whenever they arrived.
create index dlq_event_facts_failed on dlq_event_facts (failed_at) where failed_at is not null;
