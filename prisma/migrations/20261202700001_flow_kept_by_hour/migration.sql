-- What is older than a week is kept by the hour and wider. What was not stored in storms is looked up there, too.
create index dlq_group_flow_hours_unstored on dlq_group_flow_hours (fingerprint, at) where unstored > 0;
