-- The worker that claimed an item (worker_heartbeats.id), so that what a lost worker held is given back before its lease
-- ends. No index: it is looked for only when a worker was lost.

alter table redrive_items add column claimed_by uuid;
