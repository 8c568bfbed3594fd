-- What changes with an event's state stays in dlq_events, narrow and with few indexes; what is only searched and shown
-- moves to dlq_event_facts, so that a change of state writes one index of status instead of eight (ADR 0040).
-- The wide table becomes dlq_event_facts as it is: only the narrow one is written anew, about 10 s for a million events,
-- and web and worker wait meanwhile.

alter table dlq_events rename to dlq_event_facts;
do $$
declare day record;
begin
  for day in select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
              where i.inhparent = 'dlq_event_facts'::regclass loop
    execute format('alter table %I rename to %I', day.name, replace(day.name, 'dlq_events_', 'dlq_event_facts_'));
  end loop;
end $$;
drop index dlq_events_status, dlq_events_error_code, dlq_events_fingerprint, dlq_events_source, dlq_events_source_code,
           dlq_events_event_type, dlq_events_bounced, dlq_events_cooling, dlq_events_confirmed, dlq_events_unconfirmed,
           dlq_events_order, dlq_events_processed;
alter table dlq_event_facts rename constraint dlq_events_pkey to dlq_event_facts_pkey;
alter index dlq_events_aggregate rename to dlq_event_facts_aggregate;
alter index dlq_events_trace     rename to dlq_event_facts_trace;
alter index dlq_events_tags      rename to dlq_event_facts_tags;
create index dlq_event_facts_event_type on dlq_event_facts (event_type, id) where event_type is not null;

create table dlq_events (
  id               uuid not null,
  source_id        uuid not null,
  event_id         text not null,
  aggregate_type   text,
  aggregate_id     text,
  version          bigint,
  error_code       text not null,
  fingerprint      text not null,                    -- tells the error code: it is a part of what is hashed
  first_seen       timestamptz not null,
  -- From here on it changes: an update on the same page logs nothing before the first byte that differs.
  status           text not null default 'PENDING',  -- PENDING | QUEUED | REDRIVEN | IGNORED
  attempts         integer not null default 0,       -- the consumer's deliveries plus ours
  bounces          integer not null default 0,
  redrives         integer not null default 0,       -- deliver redrives that sent it: counts against the redrive limit
  failures         integer not null default 0,       -- consecutive failed redrives: doubles the cooldown
  last_attempt_at  timestamptz,
  redrive_at       timestamptz,                      -- when it was last delivered
  confirmed_at     timestamptz,
  cooldown_until   timestamptz,
  last_operator    text,
  bounced_redrives uuid[],                           -- redrives that came back: the same bounce counts once
  confirmed_redrive uuid,                            -- the redrive whose `confirmed` counts this event
  primary key (id)
) partition by range (id);

-- The days of dlq_event_facts. A page keeps room for new versions of its rows.
do $$
declare day record;
begin
  for day in select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
               from pg_inherits i join pg_class c on c.oid = i.inhrelid
              where i.inhparent = 'dlq_event_facts'::regclass loop
    execute format('create table %I partition of dlq_events %s with (fillfactor = 70)',
                   replace(day.name, 'dlq_event_facts_', 'dlq_events_'), day.bounds);
  end loop;
end $$;

insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, first_seen,
                        status, attempts, bounces, redrives, failures, last_attempt_at, redrive_at, confirmed_at,
                        cooldown_until, last_operator, bounced_redrives, confirmed_redrive)
select id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, first_seen,
       status, attempts, bounces, redrives, failures, last_attempt_at, redrive_at, confirmed_at,
       cooldown_until, last_operator, bounced_redrives, confirmed_redrive
  from dlq_event_facts;

-- A filter by source, error code, group or status is a set of (fingerprint, source, status), and dlq_group_levels tells
-- which of them have events: one ordered range each.
create index dlq_events_group       on dlq_events (fingerprint, source_id, status, id);
create index dlq_events_bounced     on dlq_events (id) where bounces > 0;
create index dlq_events_cooling     on dlq_events (id) where cooldown_until is not null;
create index dlq_events_confirmed   on dlq_events (id) where confirmed_at is not null;
create index dlq_events_unconfirmed on dlq_events (redrive_at) where status = 'REDRIVEN' and confirmed_at is null;
create index dlq_events_order       on dlq_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version, id) where status in ('PENDING', 'IGNORED') and aggregate_id is not null;
create index dlq_events_processed   on dlq_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version) where status = 'REDRIVEN' and confirmed_at is not null and aggregate_id is not null and version is not null;
create index dlq_group_levels_group on dlq_group_levels (fingerprint);

-- Dropping a column rewrites nothing: rows of before the migration keep its bytes until their day is dropped.
alter table dlq_event_facts
  drop column source_id, drop column event_id, drop column aggregate_type, drop column version, drop column error_code,
  drop column fingerprint, drop column first_seen, drop column status, drop column attempts, drop column bounces,
  drop column redrives, drop column failures, drop column last_attempt_at, drop column redrive_at,
  drop column confirmed_at, drop column cooldown_until, drop column last_operator, drop column bounced_redrives,
  drop column confirmed_redrive;

-- An event with all its columns. A left join: a read that asks for no column of the facts does not read them.
create view dlq_event_rows as
select e.id, e.source_id, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, e.fingerprint,
       e.first_seen, e.status, e.attempts, e.bounces, e.redrives, e.failures, e.last_attempt_at, e.redrive_at,
       e.confirmed_at, e.cooldown_until, e.last_operator, e.bounced_redrives,
       e.confirmed_redrive,
       f.aggregate_id as found_aggregate_id,         -- the same, with an index over all statuses
       f.event_type, f.trace_id, f.failed_at, f.last_error_code, f.last_error, f.payload_bytes, f.tags
  from dlq_events e left join dlq_event_facts f on f.id = e.id;

analyze dlq_events;
