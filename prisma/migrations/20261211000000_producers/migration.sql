-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
-- All at once: a step that waited after the rebuilds would repeat them.
lock table dlq_events, event_keys, processed_events, admission_drops in access exclusive mode;

-- The producer within which an event's id is unique, as `source` of a CloudEvent; '' = the id is unique in its source of
-- Parkade. It is a part of every key that names an event by its id. Events from before keep '': see lib/intake/producer.ts.
alter table event_keys add column producer text default '' not null,
  drop constraint event_keys_pkey, add primary key (event_id, source_id, producer);
alter table processed_events add column producer text default '' not null,
  drop constraint processed_events_pkey, add primary key (event_id, source_id, producer, consumer);
alter table admission_drops add column producer text default '' not null,
  drop constraint admission_drops_pkey, add primary key (event_id, source_id, producer);
alter table dlq_events add column producer text default '' not null;

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
    e.producer
   from (dlq_events e
     left join dlq_event_facts f on ((f.id = e.id)));
