-- Redrive rules: a worker redrives parked events that a rule describes (ADR 0084).

create table redrive_rules (
  id          uuid primary key,
  position    integer not null,                      -- the first enabled rule whose filter matches takes the event
  name        text not null unique,
  enabled     boolean not null default false,
  version     integer not null,                      -- of name and body: counts their changes
  body        jsonb not null,                        -- { filter, delayMs, lane, limits, ... }
  run         bigint not null default 0,             -- counts its runs: two workers cannot make the same one
  looked_to   uuid,                                  -- the last event that was looked at; null = begin at the newest
  fault       text,                                  -- why the last round could not apply it; null = it could
  enabled_by  text,
  enabled_at  timestamptz,
  stopped_at  timestamptz,                           -- it switched itself off then
  stop_reason text,
  created_by  text not null,
  created_at  timestamptz not null default now(),
  updated_by  text not null,
  updated_at  timestamptz not null default now()
);

-- Counts the changes of the rules. A run that was found under another revision is not made.
create table redrive_rule_revision (
  id       integer primary key check (id = 1),
  revision bigint not null
);
insert into redrive_rule_revision (id, revision) values (1, 0);

-- The redrives that rules asked for.
create table redrive_rule_runs (
  redrive_id uuid primary key,
  rule_id    uuid not null,
  version    integer not null,
  events     integer not null,
  at         timestamptz not null default now()
);
create index redrive_rule_runs_rule on redrive_rule_runs (rule_id, at);

-- What a rule would have done. A rule is switched on with a trial of the same digest.
create table redrive_rule_trials (
  id         uuid primary key,
  digest     text not null,                          -- of the body that was tried
  result     jsonb not null,
  created_by text not null,
  created_at timestamptz not null default now()
);
create index redrive_rule_trials_digest on redrive_rule_trials (digest, created_at);

-- "Has the group succeeded since?": the newest confirmation of a group, one look-up in each day's partition.
create index dlq_events_group_confirmed on dlq_events (fingerprint, source_id, confirmed_at) where confirmed_at is not null;
