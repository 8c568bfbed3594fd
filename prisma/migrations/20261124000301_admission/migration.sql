-- Admission at intake: rules that change, mark or drop dead letters before they are stored (ADR 0061).

create table admission_rules (
  id         uuid primary key,
  position   integer not null,                       -- rules are applied in this order
  name       text not null unique,
  source     text,                                   -- name of the only source it applies to; null = all
  enabled    boolean not null default false,
  version    integer not null,                       -- of name, source and body: counts their changes
  body       jsonb not null,                         -- { when, do }
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_by text not null,
  updated_at timestamptz not null default now()
);

-- Every version that was ever stored: an event names the version that changed it, also after the rule is deleted.
create table admission_rule_versions (
  rule_id    uuid not null,
  version    integer not null,
  name       text not null,
  source     text,
  body       jsonb not null,
  reason     text not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  primary key (rule_id, version)
);

-- Counts the changes of the rules. A batch that was judged by another revision is judged again before it is stored.
create table admission_revision (
  id       integer primary key check (id = 1),
  revision bigint not null
);
insert into admission_revision (id, revision) values (1, 0);

-- Deltas, folded in place: no batch waits for another one at a row. rule_id null = the built-in version check.
create table admission_counts (
  hour      timestamptz not null,
  rule_id   uuid,
  source_id uuid not null,
  outcome   text not null,                           -- matched | dropped | failed | superseded
  n         bigint not null
);
create index admission_counts_hour on admission_counts (hour);

-- Keys of dropped messages, for an hour: a message that its broker delivers again is counted once.
create table admission_drops (
  event_id  text not null,
  source_id uuid not null,
  at        timestamptz not null default now(),
  primary key (event_id, source_id)
);
create index admission_drops_at on admission_drops (at);

-- A few of the dropped messages of each rule, and of those on which a rule failed. Never a payload, never a header.
create table admission_samples (
  id            uuid primary key,
  rule_id       uuid not null,
  source_id     uuid not null,
  outcome       text not null,                       -- dropped | failed
  event_id      text not null,
  error_code    text not null,
  error_type    text,
  error_message text,
  fault         text,
  at            timestamptz not null
);
create index admission_samples_rule on admission_samples (rule_id, id);

alter table dlq_events add column admission text;          -- early | superseded | confirm; null = sent like any other
alter table dlq_event_bodies add column admission jsonb;   -- what the rules did to it; null = nothing
alter table redrives add column despite text[] not null default '{}';

create or replace view dlq_event_rows as
select e.id, e.source_id, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, e.fingerprint,
       e.first_seen, e.status, e.attempts, e.bounces, e.redrives, e.failures, e.last_attempt_at, e.redrive_at,
       e.confirmed_at, e.cooldown_until, e.last_operator, e.bounced_redrives,
       e.confirmed_redrive,
       f.aggregate_id as found_aggregate_id,
       f.event_type, f.trace_id, f.failed_at, f.last_error_code, f.last_error, f.payload_bytes, f.tags,
       e.admission
  from dlq_events e left join dlq_event_facts f on f.id = e.id;
