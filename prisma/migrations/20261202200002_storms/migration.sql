-- Events of one group in a minute that are stored whole; above it a sample is. null = all are stored.
alter table sources add column storm_per_minute integer check (storm_per_minute >= 1);

-- Events that were counted and not stored.
alter table dlq_flow_minutes       add column unstored bigint not null default 0;
alter table dlq_flow_fives         add column unstored bigint not null default 0;
alter table dlq_flow_hours         add column unstored bigint not null default 0;
alter table dlq_flow_days          add column unstored bigint not null default 0;
alter table dlq_group_flow_minutes add column unstored bigint not null default 0;
alter table dlq_group_flow_hours   add column unstored bigint not null default 0;
alter table dlq_group_flow_days    add column unstored bigint not null default 0;
-- The start of the storms of a group, among its many quiet minutes.
create index dlq_group_flow_minutes_unstored on dlq_group_flow_minutes (fingerprint, at) where unstored > 0;
