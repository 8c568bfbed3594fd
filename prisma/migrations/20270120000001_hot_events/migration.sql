-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
lock table dlq_events in access exclusive mode;

drop index dlq_events_group;
drop index dlq_events_processed;

-- The rewrite below leaves room for a new version of each row.
do $$
declare day regclass;
begin
  for day in select inhrelid::regclass from pg_inherits where inhparent = 'dlq_events'::regclass loop
    execute format('alter table %s set (fillfactor = 45)', day);
  end loop;
end $$;

-- What stays as it is when an event is frozen, and when it is delivered. An index of it keeps apart what is much and seldom looked for;
-- no index names the status, so that both write the row of the event alone (HOT).
alter table dlq_events add column settled smallint not null -- 0 no, 1 ignored, 2 confirmed
  generated always as (case when status = 'IGNORED' then 1 when confirmed_at is not null then 2 else 0 end) stored;
create or replace view dlq_event_rows as
 select e.id,
    e.source_id,
    e.event_id,
    e.aggregate_type,
    e.aggregate_id,
    e.version,
    e.error_code,
    e.fingerprint,
    e.first_seen,
    e.status,
    e.attempts,
    e.bounces,
    e.redrives,
    e.failures,
    e.last_attempt_at,
    e.redrive_at,
    e.confirmed_at,
    e.cooldown_until,
    e.last_operator,
    e.bounced_redrives,
    e.confirmed_redrive,
    f.aggregate_id as found_aggregate_id,
    f.event_type,
    f.trace_id,
    f.failed_at,
    f.last_error_code,
    f.last_error,
    f.payload_bytes,
    f.tags,
    e.admission,
    e.revision,
    e.producer,
    coalesce(f.first_failed_at, f.failed_at) as first_failed_at,
    e.settled
   from (dlq_events e
     left join dlq_event_facts f on ((f.id = e.id)));

create index dlq_events_group on dlq_events (fingerprint, source_id, settled, id);
