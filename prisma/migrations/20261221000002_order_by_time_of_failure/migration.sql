-- Apart from the column of revisions: they can be read while the index is made.
set local lock_timeout = '500ms';

-- A list in the order of the last failure walks this index, whose ids decide between events of one moment.
create index dlq_event_facts_failed_order on dlq_event_facts (failed_at, id) where failed_at is not null;
