-- Parkade's store. Written for one PostgreSQL 15+ and for a hash-sharded one: no sequence as a key, no trigger, and
-- every unique key of a hot table holds its distribution column (`id`; `event_id` for event_keys).

-- Where dead letters come from ------------------------------------------------------------------------------------

create table sources (
  id             uuid primary key,
  name           text not null unique,
  kind           text not null,
  config         jsonb not null,                     -- secrets by reference only (env:NAME)
  payload_schema jsonb,                              -- JSON Schema of the dry run; null = only "parses"
  enabled        boolean not null default true,
  created_at     timestamptz not null default now(),
  updated_at     timestamptz not null default now(),
  state          jsonb not null default '{}'         -- last reported by the consumer: { state, lag, lastError, at }
);

create table policies (
  id         uuid primary key,
  name       text not null,
  version    integer not null,
  body       jsonb not null,
  reason     text,
  created_by text not null,
  created_at timestamptz not null default now(),
  unique (name, version)
);

-- One row per (source, lane): where a redrive of this source's events delivers, and how fast at the most.
create table targets (
  id              uuid primary key,
  source_id       uuid not null references sources on delete cascade,
  lane            text not null check (lane in ('main', 'slow')),
  name            text not null unique,
  rate_per_second double precision,                  -- null = unlimited
  burst           double precision,                  -- null = a tenth of a second's worth, at least 1
  bulkhead        integer not null default 20,
  policy_name     text not null default 'slow-lane',
  retryable       boolean not null default true,     -- whitelisted for automatic repeats
  breaker_force   text check (breaker_force in ('open', 'closed')),
  reset_at        timestamptz,                       -- an operator said the target is well: workers forget its history
  updated_at      timestamptz not null default now(),
  unique (source_id, lane)
);

-- Events ----------------------------------------------------------------------------------------------------------
-- Range-partitioned by the UUIDv7 key, a partition a day, and no default partition: with one the planner must merge
-- all partitions instead of stopping at the newest.

create table dlq_events (
  id              uuid not null,
  source_id       uuid not null,
  event_id        text not null,
  aggregate_type  text,
  aggregate_id    text,
  version         bigint,
  event_type      text,
  trace_id        text,
  error_code      text not null,
  fingerprint     text not null,
  status          text not null default 'PENDING',   -- PENDING | QUEUED | REDRIVEN | IGNORED
  attempts        integer not null default 0,        -- the consumer's deliveries plus ours
  bounces         integer not null default 0,
  redrives        integer not null default 0,        -- deliver redrives that sent it: counts against the redrive limit
  failures        integer not null default 0,        -- consecutive failed redrives: doubles the cooldown
  first_seen      timestamptz not null,
  failed_at       timestamptz,
  last_attempt_at timestamptz,
  last_error_code text,
  last_error      text,                              -- summary, at most 2 KB
  last_operator   text,
  redrive_at      timestamptz,                       -- when it was last delivered
  confirmed_at    timestamptz,
  cooldown_until  timestamptz,
  bounced_redrive uuid,                              -- last redrive that came back: the same bounce counts once
  payload_bytes   integer not null,
  tags            jsonb not null default '{}',
  primary key (id)
) partition by range (id);

-- A list by one of these names is read in order from one range of its index for each status, and so is a pair: by
-- (error_code, id) alone, "UPSTREAM_5XX and IGNORED" would walk through every UPSTREAM_5XX to find the few.
create index dlq_events_status      on dlq_events (status, id);
create index dlq_events_error_code  on dlq_events (error_code, status, id);
create index dlq_events_fingerprint on dlq_events (fingerprint, status, id);
create index dlq_events_source      on dlq_events (source_id, status, id);
create index dlq_events_source_code on dlq_events (source_id, error_code, status, id);
create index dlq_events_event_type  on dlq_events (event_type, status, id) where event_type is not null;
create index dlq_events_bounced     on dlq_events (id) where bounces > 0;
create index dlq_events_cooling     on dlq_events (id) where cooldown_until is not null;
create index dlq_events_confirmed   on dlq_events (id) where confirmed_at is not null;
create index dlq_events_aggregate   on dlq_events (aggregate_id, id) where aggregate_id is not null;
create index dlq_events_trace       on dlq_events (trace_id, id) where trace_id is not null;
create index dlq_events_unconfirmed on dlq_events (redrive_at) where status = 'REDRIVEN' and confirmed_at is null;
create index dlq_events_tags        on dlq_events using gin (tags jsonb_path_ops);

create table dlq_event_bodies (
  id            uuid not null,
  payload       bytea not null,
  content_type  text not null,
  headers       jsonb not null default '[]',         -- ordered list, duplicates kept
  error_type    text,
  error_message text,
  error_detail  text,                                -- stack
  origin        jsonb not null default '{}',
  primary key (id)
) partition by range (id);
-- Payloads are compressed JSON more often than not; lz4 costs a tenth of pglz on the ingest path.
-- Used where the server was built with it; the embedded one is not, and keeps pglz.
do $$ begin
  alter table dlq_event_bodies alter column payload set compression lz4;
exception when feature_not_supported then null;
end $$;

-- A partitioned table cannot hold a global unique key: this one deduplicates.
create table event_keys (
  source_id uuid not null,
  event_id  text not null,
  id        uuid not null,
  primary key (event_id, source_id)
);

create table dlq_groups (
  fingerprint     text primary key,
  error_code      text not null,
  exception_type  text,
  message_pattern text not null,
  first_frame     text,
  sample_event    uuid not null,
  first_seen      timestamptz not null,
  last_seen       timestamptz not null
);

-- Rollups: appended as deltas by the statement that changes an event, folded by the janitor ------------------------

create table dlq_levels (
  source_id  uuid not null,
  error_code text not null,
  status     text not null,
  hour       timestamptz not null,                   -- first_seen, truncated
  n          bigint not null
);

create table dlq_group_levels (
  fingerprint text not null,
  source_id   uuid not null,
  status      text not null,
  n           bigint not null
);

create table dlq_flow (
  minute      timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  fingerprint text not null,
  kind        text not null,                         -- parked redriven confirmed failed bounced ignored released expired
  n           bigint not null
);
create index dlq_flow_minute on dlq_flow (minute);

-- Redrives --------------------------------------------------------------------------------------------------------

create table redrives (
  id                uuid primary key,
  state             text not null,                   -- PLANNING PLANNED RUNNING PAUSED DONE CANCELLED
  mode              text not null check (mode in ('verify', 'deliver')),
  lane              text not null check (lane in ('main', 'slow')),
  rate_per_second   double precision,                -- null = the target's rate
  selection         jsonb not null,                  -- { ids } or { filter }, as asked
  cutoff            uuid not null,                   -- later arrivals are not included
  plan_cursor       uuid,
  slices            integer not null,
  canary            jsonb,                           -- { steps, stopAtFailureRatio, window }
  released          bigint,                          -- canary: items that may have been started; null = all
  recent            text not null default '',        -- last outcomes, newest last: d delivered, f failed, b bounced
  pause_reason      text,
  policies          jsonb not null default '{}',     -- target id -> policy body it started with
  total             bigint not null default 0,
  delivered         bigint not null default 0,
  passed            bigint not null default 0,       -- verify runs only
  confirmed         bigint not null default 0,
  failed            bigint not null default 0,
  refused           bigint not null default 0,
  cancelled         bigint not null default 0,
  bounced           bigint not null default 0,
  refused_by_reason jsonb not null default '{}',
  failed_by_reason  jsonb not null default '{}',
  created_by        text not null,
  reason            text not null,
  created_at        timestamptz not null default now(),
  planned_at        timestamptz,
  started_at        timestamptz,
  finished_at       timestamptz
);
create index redrives_live on redrives (state) where state in ('PLANNING', 'PLANNED', 'RUNNING', 'PAUSED');

-- Narrow: claims run on it. `id` is the event's id, so it shards with the event.
create table redrive_items (
  id            uuid not null,
  redrive_id    uuid not null,
  slice         integer not null,
  source_id     uuid not null,
  aggregate_id  text,
  version       bigint,
  error_code    text not null,
  state         text not null,                       -- open delivered passed failed refused cancelled
  fence         bigint not null default 0,
  claimed_until timestamptz,
  not_before    timestamptz,                         -- deferred by a Retry-After that did not fit the deadline
  attempts      integer not null default 0,
  result        text,                                -- reason or outcome code
  detail        text,
  verdict       jsonb,                               -- findings of the dry run
  finished_at   timestamptz,
  primary key (id, redrive_id)
);
create unique index redrive_items_one_open on redrive_items (id) where state = 'open';
-- Both keep an aggregate's order: version, events without one last, then the time they were parked.
create index redrive_items_claim   on redrive_items (redrive_id, slice, coalesce(version, 9223372036854775807), id) where state = 'open';
create index redrive_items_order   on redrive_items (aggregate_id, source_id, coalesce(version, 9223372036854775807), id) where state = 'open' and aggregate_id is not null;
create index redrive_items_outcome on redrive_items (redrive_id, state, id);

create table redrive_attempts (
  id              uuid not null,                     -- the event's id
  redrive_id      uuid not null,
  attempt         integer not null,
  fence           bigint not null,
  state           text not null default 'open',      -- open delivered failed ambiguous
  target          text not null,
  idempotency_key text not null,
  opened_at       timestamptz not null,
  closed_at       timestamptz,
  latency_ms      double precision,
  code            text,
  detail          text,
  primary key (id, redrive_id, attempt)
);

create index redrive_attempts_opened on redrive_attempts (opened_at);

create table redrive_ticks (
  redrive_id uuid not null,
  at         timestamptz not null,                   -- truncated to 5 s
  delivered  integer not null default 0,
  failed     integer not null default 0,
  refused    integer not null default 0
);
create index redrive_ticks_redrive on redrive_ticks (redrive_id, at);

-- One live holder per aggregate, across redrives; and its run of failures.
create table aggregates (
  source_id            uuid not null,
  aggregate_id         text not null,
  lease_redrive        uuid,
  lease_slice          integer,
  lease_until          timestamptz,
  consecutive_failures integer not null default 0,
  primary key (aggregate_id, source_id)
);

-- Rules and records -----------------------------------------------------------------------------------------------

create table controls (
  id          uuid primary key,
  kind        text not null check (kind in ('blacklist', 'whitelist', 'cooldown')),
  scope       text not null check (scope in ('eventId', 'aggregateId', 'errorCode', 'source')),
  value       text not null,
  reason      text not null,
  origin      text not null default 'person' check (origin in ('person', 'automatic')),
  created_by  text not null,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz,
  lifted_at   timestamptz,
  lifted_by   text,
  lift_reason text
);
create index controls_live on controls (scope, value) where lifted_at is null;

create table audit_entries (
  id           uuid primary key,                     -- UUIDv7: also the time index
  at           timestamptz not null,
  actor        text not null,
  action       text not null,
  subject_kind text not null,                        -- event redrive control source target policy view setting
  subject_id   text,                                 -- null when the entry covers several events (audit_subjects)
  redrive_id   uuid,
  reason       text,
  before       jsonb,
  after        jsonb,
  count        integer not null default 1
);
create index audit_entries_subject on audit_entries (subject_kind, subject_id, id);
create index audit_entries_redrive on audit_entries (redrive_id, id) where redrive_id is not null;
create index audit_entries_action  on audit_entries (action, id);
create index audit_entries_actor   on audit_entries (actor, id);

-- Which events one entry covers: one row for each state change of an event.
create table audit_subjects (
  event_id uuid not null,
  entry_id uuid not null,
  primary key (event_id, entry_id)
);

create table saved_views (
  id         uuid primary key,
  name       text not null unique,
  filter     jsonb not null,
  created_by text not null,
  created_at timestamptz not null default now()
);

create table settings (
  key        text primary key,
  value      jsonb not null,
  updated_by text not null,
  updated_at timestamptz not null default now()
);

create table idempotency_keys (
  actor       text not null,
  key         text not null,
  fingerprint text not null,
  status      integer,                               -- null while the first request still runs
  response    jsonb,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null,
  primary key (actor, key)
);

create table rate_buckets (
  key        text primary key,
  tokens     double precision not null,
  updated_at timestamptz not null
);

create table worker_heartbeats (
  id         uuid primary key,
  started_at timestamptz not null,
  seen_at    timestamptz not null,
  info       jsonb not null default '{}'             -- running slices, per-target engine state
);

-- Outbox and inbox kit --------------------------------------------------------------------------------------------

create table outbox (
  id             uuid primary key,
  aggregate_type text not null,
  aggregate_id   text not null,
  event_type     text not null,
  payload        jsonb not null,
  headers        jsonb not null default '{}',
  status         text not null default 'NEW' check (status in ('NEW', 'SENT', 'FAILED')),
  attempts       integer not null default 0,
  available_at   timestamptz not null default now(),
  last_error     text,
  created_at     timestamptz not null default now(),
  sent_at        timestamptz
);
create index outbox_due on outbox (available_at) where status = 'NEW';
create index outbox_order on outbox (aggregate_id, id) where status <> 'SENT';

create table processed_events (
  consumer     text not null,
  source_id    uuid not null,
  event_id     text not null,
  aggregate_id text,
  version      bigint,
  processed_at timestamptz not null default now(),
  primary key (event_id, source_id, consumer)
);
create index processed_events_aggregate on processed_events (source_id, aggregate_id, version) where aggregate_id is not null;
