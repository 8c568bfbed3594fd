-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- The sends that may be under way: a row for those whose intents were committed together.
create table send_intents (
  wave uuid not null,
  opened_at timestamptz not null,
  ids uuid[] not null, -- the events' ids; the other lists follow them
  redrive_ids uuid[] not null,
  attempts integer[] not null,
  fences bigint[] not null,
  revisions integer[] not null, -- what is sent
  targets text[] not null,
  target_ids uuid[] not null,
  keys text[] not null,
  primary key (wave)
);

-- Web and workers are stopped: the sends of their last ones may have arrived.
update redrive_attempts
   set state = 'ambiguous', closed_at = now(), code = 'WORKER_LOST',
       detail = 'the worker stopped between send and mark: it may have been delivered'
 where state = 'open';
drop index redrive_attempts_open;
alter table redrive_attempts alter column state drop default;
alter table redrive_attempts add constraint redrive_attempts_ended check (state <> 'open');

-- The send of an item whose first attempt was delivered; null = its attempts are rows of redrive_attempts.
alter table redrive_items
  add column sent_at timestamptz,
  add column latency_ms double precision,
  add column sent_to text,
  add column sent_to_id uuid;

-- The worker that works a slice of a redrive. Each taking raises the epoch: intents and ends of an earlier one are refused.
create table slice_owners (
  redrive_id uuid not null,
  slice integer not null,
  epoch bigint not null,
  owner uuid, -- null = nobody
  primary key (redrive_id, slice)
);
create index slice_owners_held on slice_owners (owner) where owner is not null;

-- Items by the order of their aggregates, those that wait for a time, and those that wait for an earlier event of their aggregate.
drop index redrive_items_claim;
create index redrive_items_ready on redrive_items (redrive_id, slice, coalesce(version, '9223372036854775807'::bigint), id)
  where state = 'open' and slice >= 0 and not_before is null;
create index redrive_items_due on redrive_items (redrive_id, slice, not_before) where state = 'open' and slice >= 0 and not_before is not null;
create index redrive_items_behind on redrive_items (id) where state = 'open' and not_before = 'infinity';

-- An item counts the attempts of lost workers, too.
update redrive_items i
   set attempts = greatest(attempts, (
         select max(a.attempt) from redrive_attempts a where a.id = i.id and a.redrive_id = i.redrive_id))
 where state = 'open' and exists (select from redrive_attempts a where a.id = i.id and a.redrive_id = i.redrive_id);

alter table redrive_items drop column claimed_until, drop column claimed_by;
alter table aggregates drop column lease_redrive, drop column lease_slice;
drop table slice_waits;

-- The intents without an end: their items are open, and the attempt has no row yet.
create view open_sends as
select w.id, w.redrive_id, i.slice, w.attempt, w.fence, w.target, w.target_id, w.idempotency_key, w.revision, s.opened_at
  from send_intents s
 cross join lateral unnest(s.ids, s.redrive_ids, s.attempts, s.fences, s.targets, s.target_ids, s.keys, s.revisions)
         as w (id, redrive_id, attempt, fence, target, target_id, idempotency_key, revision)
  join redrive_items i on i.id = w.id and i.redrive_id = w.redrive_id and i.state is not distinct from 'open'
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
