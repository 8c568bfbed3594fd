-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
-- All at once: an event that changed after it was read would have a wrong row, and a step that waited after the fill would repeat it.
lock table dlq_events, redrive_items, skipped_heads in access exclusive mode;

-- The line of each aggregate: a row for every event of it that is parked or open. Whether an event may be sent is asked here,
-- in a table of all days, and not in an index of each day.
create table aggregate_lines (
  shard integer not null, -- 0 to 63, of source and aggregate: the distribution column
  aggregate_id text not null,
  source_id uuid not null,
  aggregate_type text not null, -- '' = none
  part integer not null, -- 0 parked, 1 open, 2 parked and skipped
  place bigint not null, -- the version; the largest bigint where there is none
  id uuid not null, -- of the event
  cooldown_until timestamptz, -- of a parked event
  redrive_id uuid -- of an open event: the redrive that has it
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

insert into aggregate_lines (shard, aggregate_id, source_id, aggregate_type, part, place, id, cooldown_until, redrive_id)
select get_byte(sha256(convert_to(e.source_id || ':' || e.aggregate_id, 'UTF8')), 0) & 63, e.aggregate_id, e.source_id,
       coalesce(e.aggregate_type, ''),
       case when e.status = 'QUEUED' then 1 when k.id is not null then 2 else 0 end,
       coalesce(e.version, 9223372036854775807), e.id,
       case when e.status = 'PENDING' and k.id is null then e.cooldown_until end, i.redrive_id
  from dlq_events e
  left join skipped_heads k on k.id = e.id and k.revision = e.revision and k.bounces = e.bounces
  left join redrive_items i on i.id = e.id and i.state = 'open' and e.status = 'QUEUED'
 where e.aggregate_id is not null and (e.status in ('PENDING', 'IGNORED') or i.redrive_id is not null);

-- The part before the place: a question is about one part, and reads no row of another.
alter table aggregate_lines add primary key (shard, aggregate_id, source_id, aggregate_type, part, place, id);
-- Behind events that cool down waits also what has no version.
create index aggregate_lines_cooling on aggregate_lines (shard, aggregate_id, source_id, aggregate_type, place, id) where cooldown_until is not null;
analyze aggregate_lines;

-- An aggregate with a processed version has a row: only then its confirmed events are looked up.
insert into aggregates (source_id, aggregate_type, aggregate_id, lease_until)
select distinct e.source_id, coalesce(e.aggregate_type, ''), e.aggregate_id, now() - interval '1 day'
  from dlq_events e
 where e.status = 'REDRIVEN' and e.confirmed_at is not null and e.aggregate_id is not null and e.version is not null
on conflict (aggregate_id, source_id, aggregate_type) do nothing;

-- What they served is asked of the line.
drop index dlq_events_order;
drop index redrive_items_order;
