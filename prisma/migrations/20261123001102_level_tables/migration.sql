-- How many events there are, folded: `dlq_levels` is the log of deltas that the janitor has not folded yet. A size reads the
-- totals, and only an age reads the hours.

-- A delta that an old process commits between two of the copies below would be missing from some of them for ever.
lock table dlq_events, dlq_levels in exclusive mode;

create table dlq_level_totals (
  source_id  uuid not null,
  error_code text not null,
  status     text not null,
  n          bigint not null,
  primary key (source_id, error_code, status)
);

create table dlq_level_hours (
  hour       timestamptz not null,                   -- first_seen, truncated
  source_id  uuid not null,
  error_code text not null,
  status     text not null,
  n          bigint not null,
  primary key (hour, source_id, error_code, status)
);

insert into dlq_level_totals (source_id, error_code, status, n)
select source_id, error_code, status, sum(n) from dlq_levels group by 1, 2, 3;
insert into dlq_level_hours (hour, source_id, error_code, status, n)
select hour, source_id, error_code, status, sum(n) from dlq_levels group by 1, 2, 3, 4 having sum(n) <> 0;
truncate dlq_levels;

-- What is folded and what is not.
create view dlq_level_sums as
select source_id, error_code, status, n from dlq_level_totals
union all
select source_id, error_code, status, n from dlq_levels;

create view dlq_level_ages as
select hour, source_id, error_code, status, n from dlq_level_hours
union all
select hour, source_id, error_code, status, n from dlq_levels;
