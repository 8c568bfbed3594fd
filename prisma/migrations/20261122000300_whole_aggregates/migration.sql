-- An aggregate is its source, its type and its id together. The type was stored with each event and decided nothing: an
-- order 42 and a customer 42 of one source shared a lease, a run of failures and the version that was processed last.

-- '' = of no type: a part of a primary key cannot be null.
alter table redrive_items add column aggregate_type text not null default '';
update redrive_items i set aggregate_type = e.aggregate_type
  from dlq_events e where e.id = i.id and i.aggregate_id is not null and e.aggregate_type <> '';
drop index redrive_items_order;
create index redrive_items_order on redrive_items (aggregate_id, source_id, aggregate_type, coalesce(version, 9223372036854775807), id) where state = 'open' and aggregate_id is not null;

alter table processed_events add column aggregate_type text not null default '';
update processed_events p set aggregate_type = e.aggregate_type
  from event_keys k join dlq_events e on e.id = k.id
 where k.event_id = p.event_id and k.source_id = p.source_id and p.aggregate_id is not null and e.aggregate_type <> '';
drop index processed_events_aggregate;
create index processed_events_aggregate on processed_events (source_id, aggregate_id, aggregate_type, version) where aggregate_id is not null;

-- A run of failures that several types shared goes to each of them. A row whose aggregate has no event left keeps ''.
alter table aggregates add column aggregate_type text not null default '';
alter table aggregates drop constraint aggregates_pkey;
alter table aggregates add primary key (aggregate_id, source_id, aggregate_type);
insert into aggregates (source_id, aggregate_type, aggregate_id, lease_redrive, lease_slice, lease_until, consecutive_failures)
select distinct a.source_id, e.aggregate_type, a.aggregate_id, a.lease_redrive, a.lease_slice, a.lease_until,
       a.consecutive_failures
  from aggregates a join dlq_events e on e.aggregate_id = a.aggregate_id and e.source_id = a.source_id
 where e.aggregate_type <> '';
delete from aggregates a
 where a.aggregate_type = ''
   and exists (select 1 from dlq_events e where e.aggregate_id = a.aggregate_id and e.source_id = a.source_id)
   and not exists (select 1 from dlq_events e where e.aggregate_id = a.aggregate_id and e.source_id = a.source_id
                     and coalesce(e.aggregate_type, '') = '');

-- The blacklist that Parkade imposes on an aggregate that keeps failing is a fact of the aggregate. In `controls` it held
-- for that id in all sources, and each claim read all of them. Its id is a control's: it is listed and lifted as one, and
-- once lifted it becomes a row of `controls`, as the record of what was.
alter table aggregates
  add column blacklist_id       uuid,
  add column blacklisted_at     timestamptz,
  add column blacklist_reason   text,
  add column blacklist_redrive  uuid;                  -- the redrive whose failure reached the limit
create unique index aggregates_blacklist on aggregates (blacklist_id) where blacklist_id is not null;

-- Null = every source, every type.
alter table controls
  add column source         text,                      -- a source's name
  add column aggregate_type text;

-- Those in force move to the aggregate that failed in the redrive that imposed them. One whose redrive is gone stays: it
-- holds for the id in all sources as before, until somebody lifts it.
with imposed as (
  select distinct on (i.source_id, i.aggregate_id, i.aggregate_type)
         c.id, c.created_at, c.reason, x.redrive_id, i.source_id, i.aggregate_id, i.aggregate_type
    from controls c
    join audit_entries x on x.subject_kind = 'control' and x.subject_id = c.id::text and x.action = 'control.imposed'
    join lateral (select f.source_id, f.aggregate_id, f.aggregate_type from redrive_items f
                   where f.redrive_id = x.redrive_id and f.state = 'failed' and f.aggregate_id = c.value
                   order by f.finished_at desc limit 1) i on true
   where c.origin = 'automatic' and c.kind = 'blacklist' and c.scope = 'aggregateId' and c.lifted_at is null
     and (c.expires_at is null or c.expires_at > now())
   order by i.source_id, i.aggregate_id, i.aggregate_type, c.id
), moved as (
  insert into aggregates as a (source_id, aggregate_type, aggregate_id, blacklist_id, blacklisted_at, blacklist_reason, blacklist_redrive)
  select source_id, aggregate_type, aggregate_id, id, created_at, reason, redrive_id from imposed
  on conflict (aggregate_id, source_id, aggregate_type) do update
     set blacklist_id = excluded.blacklist_id, blacklisted_at = excluded.blacklisted_at,
         blacklist_reason = excluded.blacklist_reason, blacklist_redrive = excluded.blacklist_redrive
  returning a.blacklist_id
)
delete from controls c using moved m where c.id = m.blacklist_id;
