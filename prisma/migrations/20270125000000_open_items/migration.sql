-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
lock table redrive_items, slice_owners in access exclusive mode;

-- What is open, and nothing else: a row leaves when its item ends. The manifest keeps what was frozen and how it ended.
create table open_items (
  id uuid not null, -- of the event: one open item an event
  redrive_id uuid not null,
  slice integer not null,
  place bigint not null, -- the version; the largest bigint where there is none
  source_id uuid not null,
  revision integer not null, -- what is sent
  attempts integer default 0 not null, -- that have ended
  not_before timestamptz -- null = may go; infinity = an earlier event of its aggregate is open
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
insert into open_items (id, redrive_id, slice, place, source_id, revision, attempts, not_before)
select id, redrive_id, slice, coalesce(version, 9223372036854775807), source_id, revision, attempts, not_before
  from redrive_items where state = 'open';
alter table open_items add primary key (id);
create index open_items_ready on open_items (redrive_id, slice, place, id) where not_before is null;
create index open_items_due on open_items (redrive_id, slice, not_before) where not_before is not null;
create index open_items_behind on open_items (id) where not_before = 'infinity';
create index open_items_listed on open_items (redrive_id, id);
analyze open_items;

-- Whoever takes an item out of its redrive locks its slice: it has a row from the freeze on.
insert into slice_owners (redrive_id, slice, epoch) select distinct redrive_id, slice, 0 from open_items on conflict do nothing;

drop view sends;
drop view live_sends;
drop view open_sends;

-- No index names a column that a delivery changes, but for the record of a log: it is written where it stands.
drop index redrive_items_ready;
drop index redrive_items_due;
drop index redrive_items_behind;
drop index redrive_items_one_open;
drop index redrive_items_outcome;
alter table redrive_items
  drop column not_before,
  add column exception text generated always as (case when state in ('failed', 'refused', 'cancelled') then state end) stored;
create index redrive_items_listed on redrive_items (redrive_id, id);
create index redrive_items_exceptions on redrive_items (redrive_id, exception, id) where exception is not null;
analyze redrive_items;

-- The intents without an end: their items are open, and the attempt has no row yet. Each looks up its own item, however many are open.
create view open_sends as
select w.id, w.redrive_id, i.slice, w.attempt, w.fence, w.target, w.target_id, w.idempotency_key, w.revision, s.opened_at
  from send_intents s
 cross join lateral unnest(s.ids, s.redrive_ids, s.attempts, s.fences, s.targets, s.target_ids, s.keys, s.revisions)
         as w (id, redrive_id, attempt, fence, target, target_id, idempotency_key, revision)
 cross join lateral (select o.slice from open_items o where o.id = w.id and o.redrive_id is not distinct from w.redrive_id offset 0) i
 where not exists (
         select from redrive_attempts a where a.id = w.id and a.redrive_id = w.redrive_id and a.attempt = w.attempt);

-- Those of them whose worker still works their slice.
create view live_sends as
select s.* from open_sends s
  join slice_owners o on o.redrive_id = s.redrive_id and o.slice = s.slice and o.epoch = s.fence and o.owner is not null;

-- Every send of an event: those that have ended, the first attempts that were delivered, and those under way. Asked by `id`.
create view sends as
select id, redrive_id, attempt, fence, state, target, target_id, idempotency_key, revision, opened_at, closed_at, latency_ms, code, detail,
       decision
  from redrive_attempts
union all
select id, redrive_id, 1, fence, 'delivered', sent_to, sent_to_id, null, revision, sent_at, finished_at, latency_ms, 'OK', null, null
  from redrive_items where sent_at is not null
union all
select id, redrive_id, attempt, fence, 'open', target, target_id, idempotency_key, revision, opened_at, null, null, null, null, null
  from open_sends;
