-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- failed_at is the time of the last failure. A bounce that replaces it keeps the first one here, so that an arrival stores nothing more;
-- null = they are the same, or the event bounced before this column was there.
alter table dlq_event_facts add column first_failed_at timestamptz;

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
    coalesce(f.first_failed_at, f.failed_at) as first_failed_at
   from (dlq_events e
     left join dlq_event_facts f on ((f.id = e.id)));
