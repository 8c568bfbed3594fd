-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- The outboxes are tables of the kit, which has a column for the version of the aggregate.
alter table outbox add column version bigint;
alter table alert_outbox add column version bigint;
