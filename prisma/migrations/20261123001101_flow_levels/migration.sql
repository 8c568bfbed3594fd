-- The flow at several widths, so that a chart of any length reads a few thousand rows: by minute, five minutes, hour and day
-- for each source and error code, and by minute, hour and day for each group. `dlq_flow` is the log of deltas that the
-- janitor has not folded into them yet: it is small, and needs no index.

-- A delta that an old process commits between two of the copies below would be missing from some of them for ever.
lock table dlq_events, dlq_flow in exclusive mode;

alter table dlq_flow_hours rename to dlq_flow_hours_before;
drop index dlq_flow_hours_hour;

create table dlq_flow_minutes (
  at          timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  primary key (at, source_id, error_code)
);

create table dlq_flow_fives (
  at          timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  primary key (at, source_id, error_code)
);

create table dlq_flow_hours (
  at          timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  primary key (at, source_id, error_code)
);

create table dlq_flow_days (
  at          timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  primary key (at, source_id, error_code)
);

drop table dlq_group_flow_hours;

create table dlq_group_flow_minutes (
  at          timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  fingerprint text not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  primary key (fingerprint, at, source_id, error_code)
);
create index dlq_group_flow_minutes_at on dlq_group_flow_minutes (at);

create table dlq_group_flow_hours (
  at          timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  fingerprint text not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  primary key (fingerprint, at, source_id, error_code)
);
create index dlq_group_flow_hours_at on dlq_group_flow_hours (at);

create table dlq_group_flow_days (
  at          timestamptz not null,
  source_id   uuid not null,
  error_code  text not null,
  fingerprint text not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  primary key (fingerprint, at, source_id, error_code)
);
create index dlq_group_flow_days_at on dlq_group_flow_days (at);

-- Every minute that ever was is still in dlq_flow.
insert into dlq_flow_minutes (at, source_id, error_code, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed)
select date_bin('1 minute', minute, 'epoch'), source_id, error_code,
       coalesce(sum(n) filter (where kind = 'parked'), 0),
       coalesce(sum(n) filter (where kind = 'bounced'), 0),
       coalesce(sum(n) filter (where kind = 'released'), 0),
       coalesce(sum(n) filter (where kind = 'corrected'), 0),
       coalesce(sum(n) filter (where kind = 'redriven'), 0),
       coalesce(sum(n) filter (where kind = 'ignored'), 0),
       coalesce(sum(n) filter (where kind = 'confirmed'), 0),
       coalesce(sum(n) filter (where kind = 'unconfirmed'), 0),
       coalesce(sum(n) filter (where kind = 'failed'), 0)
  from dlq_flow group by 1, 2, 3;
insert into dlq_flow_fives (at, source_id, error_code, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed)
select date_bin('5 minutes', minute, 'epoch'), source_id, error_code,
       coalesce(sum(n) filter (where kind = 'parked'), 0),
       coalesce(sum(n) filter (where kind = 'bounced'), 0),
       coalesce(sum(n) filter (where kind = 'released'), 0),
       coalesce(sum(n) filter (where kind = 'corrected'), 0),
       coalesce(sum(n) filter (where kind = 'redriven'), 0),
       coalesce(sum(n) filter (where kind = 'ignored'), 0),
       coalesce(sum(n) filter (where kind = 'confirmed'), 0),
       coalesce(sum(n) filter (where kind = 'unconfirmed'), 0),
       coalesce(sum(n) filter (where kind = 'failed'), 0)
  from dlq_flow group by 1, 2, 3;
insert into dlq_flow_hours (at, source_id, error_code, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed)
select date_bin('1 hour', minute, 'epoch'), source_id, error_code,
       coalesce(sum(n) filter (where kind = 'parked'), 0),
       coalesce(sum(n) filter (where kind = 'bounced'), 0),
       coalesce(sum(n) filter (where kind = 'released'), 0),
       coalesce(sum(n) filter (where kind = 'corrected'), 0),
       coalesce(sum(n) filter (where kind = 'redriven'), 0),
       coalesce(sum(n) filter (where kind = 'ignored'), 0),
       coalesce(sum(n) filter (where kind = 'confirmed'), 0),
       coalesce(sum(n) filter (where kind = 'unconfirmed'), 0),
       coalesce(sum(n) filter (where kind = 'failed'), 0)
  from dlq_flow group by 1, 2, 3;
insert into dlq_flow_days (at, source_id, error_code, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed)
select date_bin('1 day', minute, 'epoch'), source_id, error_code,
       coalesce(sum(n) filter (where kind = 'parked'), 0),
       coalesce(sum(n) filter (where kind = 'bounced'), 0),
       coalesce(sum(n) filter (where kind = 'released'), 0),
       coalesce(sum(n) filter (where kind = 'corrected'), 0),
       coalesce(sum(n) filter (where kind = 'redriven'), 0),
       coalesce(sum(n) filter (where kind = 'ignored'), 0),
       coalesce(sum(n) filter (where kind = 'confirmed'), 0),
       coalesce(sum(n) filter (where kind = 'unconfirmed'), 0),
       coalesce(sum(n) filter (where kind = 'failed'), 0)
  from dlq_flow group by 1, 2, 3;
insert into dlq_group_flow_minutes (at, source_id, error_code, fingerprint, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed)
select date_bin('1 minute', minute, 'epoch'), source_id, error_code, fingerprint,
       coalesce(sum(n) filter (where kind = 'parked'), 0),
       coalesce(sum(n) filter (where kind = 'bounced'), 0),
       coalesce(sum(n) filter (where kind = 'released'), 0),
       coalesce(sum(n) filter (where kind = 'corrected'), 0),
       coalesce(sum(n) filter (where kind = 'redriven'), 0),
       coalesce(sum(n) filter (where kind = 'ignored'), 0),
       coalesce(sum(n) filter (where kind = 'confirmed'), 0),
       coalesce(sum(n) filter (where kind = 'unconfirmed'), 0),
       coalesce(sum(n) filter (where kind = 'failed'), 0)
  from dlq_flow group by 1, 2, 3, 4;
insert into dlq_group_flow_hours (at, source_id, error_code, fingerprint, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed)
select date_bin('1 hour', minute, 'epoch'), source_id, error_code, fingerprint,
       coalesce(sum(n) filter (where kind = 'parked'), 0),
       coalesce(sum(n) filter (where kind = 'bounced'), 0),
       coalesce(sum(n) filter (where kind = 'released'), 0),
       coalesce(sum(n) filter (where kind = 'corrected'), 0),
       coalesce(sum(n) filter (where kind = 'redriven'), 0),
       coalesce(sum(n) filter (where kind = 'ignored'), 0),
       coalesce(sum(n) filter (where kind = 'confirmed'), 0),
       coalesce(sum(n) filter (where kind = 'unconfirmed'), 0),
       coalesce(sum(n) filter (where kind = 'failed'), 0)
  from dlq_flow group by 1, 2, 3, 4;
insert into dlq_group_flow_days (at, source_id, error_code, fingerprint, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed)
select date_bin('1 day', minute, 'epoch'), source_id, error_code, fingerprint,
       coalesce(sum(n) filter (where kind = 'parked'), 0),
       coalesce(sum(n) filter (where kind = 'bounced'), 0),
       coalesce(sum(n) filter (where kind = 'released'), 0),
       coalesce(sum(n) filter (where kind = 'corrected'), 0),
       coalesce(sum(n) filter (where kind = 'redriven'), 0),
       coalesce(sum(n) filter (where kind = 'ignored'), 0),
       coalesce(sum(n) filter (where kind = 'confirmed'), 0),
       coalesce(sum(n) filter (where kind = 'unconfirmed'), 0),
       coalesce(sum(n) filter (where kind = 'failed'), 0)
  from dlq_flow group by 1, 2, 3, 4;

truncate dlq_flow;
drop table dlq_flow_hours_before;
drop index dlq_flow_minute;
drop index dlq_flow_unrolled;
alter table dlq_flow drop column rolled;
