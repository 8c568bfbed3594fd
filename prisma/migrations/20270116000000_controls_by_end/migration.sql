-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- Controls are removed 90 days after their end: the oldest ends are found without those that ended lately.
create index controls_by_end on controls (least(lifted_at, expires_at)) where lifted_at is not null or expires_at is not null;
