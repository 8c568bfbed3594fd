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

-- The intents without an end: their items are open, and the attempt has no row yet.
create view open_sends as
select w.id, w.redrive_id, w.attempt, w.fence, w.target, w.target_id, w.idempotency_key, w.revision, s.opened_at
  from send_intents s
 cross join lateral unnest(s.ids, s.redrive_ids, s.attempts, s.fences, s.targets, s.target_ids, s.keys, s.revisions)
         as w (id, redrive_id, attempt, fence, target, target_id, idempotency_key, revision)
  join redrive_items i on i.id = w.id and i.redrive_id = w.redrive_id and i.state is not distinct from 'open'
 where not exists (
         select from redrive_attempts a where a.id = w.id and a.redrive_id = w.redrive_id and a.attempt = w.attempt);

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
