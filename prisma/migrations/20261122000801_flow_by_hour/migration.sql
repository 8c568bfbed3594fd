-- dlq_flow by the hour, so that a chart over weeks does not read its minutes. `rolled` marks the minutes that are counted
-- in the hours already: a reader adds the hours and the minutes that are not rolled, in one statement, and is exact.

alter table dlq_flow add column rolled boolean not null default false;
create index dlq_flow_unrolled on dlq_flow (minute) where not rolled;

create table dlq_flow_hours (
  hour       timestamptz not null,
  source_id  uuid not null,
  error_code text not null,
  kind       text not null,
  n          bigint not null
);
create index dlq_flow_hours_hour on dlq_flow_hours (hour);

-- Arrivals (parked, bounced) only.
create table dlq_group_flow_hours (
  hour        timestamptz not null,
  source_id   uuid not null,
  fingerprint text not null,
  n           bigint not null
);
create index dlq_group_flow_hours_group on dlq_group_flow_hours (fingerprint, hour);
