-- Events expire: a worker removes those of days that are older than their source and error code are kept.
alter table bulk_operations drop constraint bulk_operations_kind_check;
alter table bulk_operations add constraint bulk_operations_kind_check
  check (kind in ('ignore', 'release', 'confirm', 'mend', 'undo-mend', 'remove', 'expire'));

-- A parked event that expires leaves the parked events.
alter table dlq_flow_days add column expired bigint not null default 0;
alter table dlq_flow_hours add column expired bigint not null default 0;
alter table dlq_flow_fives add column expired bigint not null default 0;
alter table dlq_flow_minutes add column expired bigint not null default 0;
alter table dlq_group_flow_days add column expired bigint not null default 0;
alter table dlq_group_flow_hours add column expired bigint not null default 0;
alter table dlq_group_flow_minutes add column expired bigint not null default 0;

-- Events that were restored do not expire before this time, however old they are.
create table restored_events (
  id          uuid primary key,                          -- of the event
  kept_until  timestamptz not null
);
create index restored_events_until on restored_events (kept_until);

-- Each period is looked at once a day; a row is made in the transaction that makes the operation.
create table retention_runs (
  source        text not null,                           -- name; '' = every one
  error_code    text not null,                           -- '' = every one
  due_before    timestamptz not null,                    -- events of the days before this are due
  operation_id  uuid,                                    -- null = nothing was due
  at            timestamptz not null default now(),
  primary key (source, error_code, due_before)
);
create index retention_runs_at on retention_runs (at);
