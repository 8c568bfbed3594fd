-- Each send asks twice whether its aggregate is blacklisted: few are, and the table holds every aggregate ever claimed.
create index aggregates_blacklisted on aggregates (aggregate_id, source_id, aggregate_type) where blacklist_id is not null;
