-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
-- All at once: an event that was confirmed or bounced after it was read would leave a wrong version.
lock table dlq_events, aggregates in access exclusive mode;

-- The newest version of an aggregate that is confirmed, which the index of each day had to be asked for.
alter table aggregates add column confirmed_version bigint, add column confirmed_event uuid; -- the event that is confirmed as this version

insert into aggregates (source_id, aggregate_type, aggregate_id, lease_until, confirmed_version, confirmed_event)
select distinct on (e.aggregate_id, e.source_id, coalesce(e.aggregate_type, ''))
       e.source_id, coalesce(e.aggregate_type, ''), e.aggregate_id, now() - interval '1 day', e.version, e.id
  from dlq_events e
 where e.status = 'REDRIVEN' and e.confirmed_at is not null and e.aggregate_id is not null and e.version is not null
 order by e.aggregate_id, e.source_id, coalesce(e.aggregate_type, ''), e.version desc
on conflict (aggregate_id, source_id, aggregate_type) do update
   set confirmed_version = excluded.confirmed_version, confirmed_event = excluded.confirmed_event;
