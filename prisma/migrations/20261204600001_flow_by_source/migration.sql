-- Wider and narrower sums of what is kept: a quarter of a day for charts of weeks, and sums without error codes for ages.

-- A delta that another process folds between the copies below would be missing from some of them for ever.
lock table dlq_flow_hours, dlq_flow_days, dlq_level_hours in exclusive mode;

create table dlq_flow_quarters (
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
  expired     bigint not null default 0,
  unstored    bigint not null default 0,
  primary key (at, source_id, error_code)
);

create table dlq_source_flow_hours (
  at          timestamptz not null,
  source_id   uuid not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  expired     bigint not null default 0,
  unstored    bigint not null default 0,
  primary key (at, source_id)
);

create table dlq_source_flow_days (
  at          timestamptz not null,
  source_id   uuid not null,
  parked      bigint not null default 0,
  bounced     bigint not null default 0,
  released    bigint not null default 0,
  corrected   bigint not null default 0,
  redriven    bigint not null default 0,
  ignored     bigint not null default 0,
  confirmed   bigint not null default 0,
  unconfirmed bigint not null default 0,
  failed      bigint not null default 0,
  expired     bigint not null default 0,
  unstored    bigint not null default 0,
  primary key (at, source_id)
);

create table dlq_source_level_hours (
  hour      timestamptz not null,                    -- first_seen, truncated
  source_id uuid not null,
  status    text not null,
  n         bigint not null,
  primary key (hour, source_id, status)
);

insert into dlq_flow_quarters (at, source_id, error_code, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed, expired, unstored)
select date_bin('6 hours', at, 'epoch'), source_id, error_code, sum(parked), sum(bounced), sum(released), sum(corrected), sum(redriven), sum(ignored), sum(confirmed), sum(unconfirmed), sum(failed), sum(expired), sum(unstored)
  from dlq_flow_hours group by 1, source_id, error_code order by 1;
insert into dlq_source_flow_hours (at, source_id, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed, expired, unstored)
select date_bin('1 hour', at, 'epoch'), source_id, sum(parked), sum(bounced), sum(released), sum(corrected), sum(redriven), sum(ignored), sum(confirmed), sum(unconfirmed), sum(failed), sum(expired), sum(unstored)
  from dlq_flow_hours group by 1, source_id order by 1;
insert into dlq_source_flow_days (at, source_id, parked, bounced, released, corrected, redriven, ignored, confirmed, unconfirmed, failed, expired, unstored)
select date_bin('1 day', at, 'epoch'), source_id, sum(parked), sum(bounced), sum(released), sum(corrected), sum(redriven), sum(ignored), sum(confirmed), sum(unconfirmed), sum(failed), sum(expired), sum(unstored)
  from dlq_flow_days group by 1, source_id order by 1;
insert into dlq_source_level_hours (hour, source_id, status, n)
select hour, source_id, status, sum(n) from dlq_level_hours group by 1, 2, 3 having sum(n) <> 0 order by 1;

-- What is folded and what is not.
create view dlq_source_level_ages as
select hour, source_id, status, n from dlq_source_level_hours
union all
select hour, source_id, status, n from dlq_levels;
