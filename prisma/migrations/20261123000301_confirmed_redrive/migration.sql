-- The redrive whose `confirmed` counts this event: when the event comes back, that count is lowered. Null for an event that is
-- not confirmed, or whose confirmation no redrive counts. Events confirmed before this column keep their counts.
alter table dlq_events add column confirmed_redrive uuid;
