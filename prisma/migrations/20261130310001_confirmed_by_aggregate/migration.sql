-- "Which version of these aggregates was processed?" has an index of its own, dlq_events_processed. While a day has no confirmed event, or
-- had none when it was analyzed, the planner takes any index over confirmed events for as good, and the plan stays when there are a
-- million. A condition that always holds keeps these two for the queries that name it.
drop index dlq_events_confirmed;
create index dlq_events_confirmed on dlq_events (id) where confirmed_at is not null and bounces >= 0;
drop index dlq_events_group_confirmed;
create index dlq_events_group_confirmed on dlq_events (fingerprint, source_id, confirmed_at) where confirmed_at is not null and bounces >= 0;
