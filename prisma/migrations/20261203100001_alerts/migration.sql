-- Rules that a worker evaluates, the alerts that they raise, and the channels that are told of them.

create table alert_rules (
  id         uuid primary key,
  name       text not null unique,
  enabled    boolean not null,
  version    integer not null default 1,
  severity   text not null check (severity in ('critical', 'warning', 'info')),
  body       jsonb not null,               -- what it watches, see lib/observe/alerts/alert-rule.shapes.ts
  fault      text,                         -- why the last evaluation could not judge it; null = it could
  created_by text not null,
  created_at timestamptz not null,
  updated_by text not null,
  updated_at timestamptz not null
);

-- One row from the first evaluation in which a condition held to the end of the alert. A rule that is deleted leaves its alerts.
create table alerts (
  id               uuid primary key,       -- UUIDv7 of the first evaluation in which the condition held
  rule_id          uuid not null,
  rule_name        text not null,
  kind             text not null,
  severity         text not null,
  key              text not null,          -- what the rule tells apart: a source, a group of a source, a target
  source           text,                   -- null = of every source
  subject          jsonb not null,
  state            text not null check (state in ('pending', 'firing', 'resolved')),
  since            timestamptz not null,   -- of the time for which the condition must hold, and holds
  fired_at         timestamptz,
  told_from        timestamptz,            -- the first evaluation in which it fired outside of a maintenance window
  clear_since      timestamptz,            -- the condition holds no more since then
  acknowledged_at  timestamptz,
  acknowledged_by  text,
  acknowledge_note text,
  resolved_at      timestamptz,
  resolved_because text check (resolved_because in ('cleared', 'rule-changed', 'rule-removed', 'rule-off')),
  value            double precision,
  threshold        double precision,
  usual            double precision,
  sentence         text not null,
  evidence         jsonb not null default '{}'   -- sample events and top groups when it fired
);
create unique index alerts_live on alerts (rule_id, key) where state <> 'resolved';
create index alerts_state on alerts (state, id);
create index alerts_resolved on alerts (resolved_at) where state = 'resolved';

create table alert_channels (
  id         uuid primary key,
  name       text not null unique,
  kind       text not null,
  enabled    boolean not null,
  severities text[] not null,              -- only alerts of these
  sources    text[],                       -- only alerts of these; null = of every source
  config     jsonb not null,               -- secrets by reference alone
  created_by text not null,
  created_at timestamptz not null,
  updated_by text not null,
  updated_at timestamptz not null
);

-- What a channel has been told of the alerts of a rule. A row for as long as the channel knows of a firing one.
create table alert_notices (
  channel_id uuid not null references alert_channels on delete cascade,
  rule_id    uuid not null,
  opened_at  timestamptz not null,         -- part of the key by which a receiver recognises repeats
  told_to    timestamptz not null,         -- alerts with a later told_from are new to the channel
  told_at    timestamptz not null,         -- the last message that fired or repeated
  acknowledged boolean not null default false,
  primary key (channel_id, rule_id)
);

create table alert_maintenances (
  id         uuid primary key,             -- UUIDv7
  sources    text[],                       -- null = every source
  from_at    timestamptz not null,
  until_at   timestamptz not null check (until_at > from_at),
  reason     text not null,
  created_by text not null,
  created_at timestamptz not null,
  ended_at   timestamptz,                  -- earlier than until_at, by a person
  ended_by   text
);
create index alert_maintenances_until on alert_maintenances (until_at);

-- One evaluation at a time: a worker takes the next generation, and commits only while no other has taken a later one.
create table alert_evaluation (
  id           integer primary key check (id = 1),
  generation   bigint not null,
  started_at   timestamptz not null,
  finished_at  timestamptz,
  took_ms      double precision
);
insert into alert_evaluation values (1, 0, 'epoch', null, null);

-- Messages to channels, published like those of the outbox and apart from them: a receiver of confirmations that hangs holds up no alert.
create table alert_outbox (
  seq            bigint generated always as identity,
  id             text primary key,
  aggregate_type text not null default '',
  aggregate_id   text not null,
  event_type     text not null,
  destination    text not null,
  message_key    text,
  payload        bytea not null,
  headers        jsonb not null default '[]',
  status         text not null default 'NEW' check (status in ('NEW', 'SENT', 'FAILED')),
  attempts       integer not null default 0,
  available_at   timestamptz not null default now(),
  claim          uuid,
  claimed_until  timestamptz,
  last_error     text,
  created_at     timestamptz not null default now(),
  sent_at        timestamptz
) with (fillfactor = 70);
create index alert_outbox_new on alert_outbox (seq) where status = 'NEW';
create index alert_outbox_order on alert_outbox (aggregate_id, aggregate_type, seq) where status <> 'SENT';
create index alert_outbox_sent on alert_outbox (sent_at) where status = 'SENT';
create index alert_outbox_channel on alert_outbox (destination, seq);

-- Rules of the first start. They tell the console; a channel is added by a person.
insert into alert_rules (id, name, enabled, severity, body, created_by, created_at, updated_by, updated_at)
select gen_random_uuid(), name, true, severity, body::jsonb, 'parkade', now(), 'parkade', now()
  from (values
    ('More arrivals than usual', 'warning', '{"kind": "inflow", "perSource": true, "windowMs": 900000, "factor": 3, "atLeast": 50, "forMs": 0, "clearMs": 600000, "repeatMs": 14400000}'),
    ('New group', 'warning', '{"kind": "new-group", "atLeast": 5, "quietMs": 86400000, "forMs": 0, "clearMs": 60000, "repeatMs": 14400000}'),
    ('Group came back', 'warning', '{"kind": "group-back", "atLeast": 5, "quietMs": 604800000, "forMs": 0, "clearMs": 60000, "repeatMs": 14400000}'),
    ('Many parked events', 'warning', '{"kind": "size", "perSource": false, "above": 100000, "forMs": 300000, "clearMs": 300000, "repeatMs": 14400000}'),
    ('Old parked events', 'warning', '{"kind": "age", "perSource": true, "aboveMs": 604800000, "forMs": 300000, "clearMs": 300000, "repeatMs": 86400000}'),
    ('Redrives fail or come back', 'critical', '{"kind": "success", "perSource": true, "windowMs": 3600000, "below": 0.8, "atLeast": 20, "forMs": 0, "clearMs": 600000, "repeatMs": 14400000}'),
    ('Breaker open', 'warning', '{"kind": "breaker", "forMs": 300000, "clearMs": 120000, "repeatMs": 14400000}'),
    ('Self-healing', 'info', '{"kind": "healing", "forMs": 600000, "clearMs": 300000, "repeatMs": 14400000}'),
    ('Source is not read', 'critical', '{"kind": "source", "states": ["failing", "unreachable", "unread"], "forMs": 120000, "clearMs": 60000, "repeatMs": 14400000}'),
    ('Contract broken', 'warning', '{"kind": "contract", "forMs": 900000, "clearMs": 300000, "repeatMs": 86400000}'),
    ('Redrive stands still', 'warning', '{"kind": "redrive-still", "forMs": 600000, "clearMs": 0, "repeatMs": 14400000}'),
    ('Little room left', 'critical', '{"kind": "storage", "belowShare": 0.2, "forMs": 60000, "clearMs": 300000, "repeatMs": 14400000}')
  ) of_the_first_start (name, severity, body);
