-- Arrivals that became no event, by what they were: repeats of a stored event, noise that a rule of admission dropped, and those of
-- which the store refused a value. With `parked`, `bounced` and `unstored` they are all that arrived.
alter table dlq_flow_minutes
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_flow_fives
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_flow_hours
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_flow_quarters
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_flow_days
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_source_flow_hours
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_source_flow_days
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_group_flow_minutes
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_group_flow_hours
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
alter table dlq_group_flow_days
  add column duplicate bigint not null default 0, add column dropped bigint not null default 0, add column rejected bigint not null default 0;
