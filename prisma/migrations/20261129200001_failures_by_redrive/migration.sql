-- However many events of an aggregate fail or bounce in one redrive, that is one failure of the aggregate.

alter table aggregates
  add column failed_redrives uuid[] not null default '{}';        -- the redrives that consecutive_failures counts
