-- Every redrive of an event that came back, not only the last: a late copy of an older one counts once as well.
alter table dlq_events add column bounced_redrives uuid[];
update dlq_events set bounced_redrives = array[bounced_redrive] where bounced_redrive is not null;
alter table dlq_events drop column bounced_redrive;

-- The last failure of the run: a delivery that was before it does not end it when it is confirmed later.
alter table aggregates add column failed_at timestamptz;
update aggregates set failed_at = now() where consecutive_failures > 0;
