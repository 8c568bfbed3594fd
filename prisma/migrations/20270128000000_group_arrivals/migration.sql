-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
lock table dlq_group_flow_hours in exclusive mode;

-- Arrivals by group alone. The tables of the flow have a row for each source of a group, and a page of groups reads two weeks of fifty groups.
create table dlq_group_arrival_days (
  at timestamptz not null,
  fingerprint text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  unstored bigint default 0 not null,
  primary key (fingerprint, at)
);
create table dlq_group_arrival_hours (
  at timestamptz not null,
  fingerprint text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  unstored bigint default 0 not null,
  primary key (fingerprint, at)
);

insert into dlq_group_arrival_hours (at, fingerprint, parked, bounced, unstored)
select at, fingerprint, sum(parked), sum(bounced), sum(unstored) from dlq_group_flow_hours
 group by 1, 2 having sum(parked + bounced + unstored) > 0 order by 1;
insert into dlq_group_arrival_days (at, fingerprint, parked, bounced, unstored)
select date_bin('1 day', at, 'epoch'), fingerprint, sum(parked), sum(bounced), sum(unstored) from dlq_group_arrival_hours
 group by 1, 2 order by 1;

-- The groups of all sources in a window are found by time.
create index dlq_group_arrival_days_at on dlq_group_arrival_days (at);
create index dlq_group_arrival_hours_at on dlq_group_arrival_hours (at);
analyze dlq_group_arrival_days;
analyze dlq_group_arrival_hours;
