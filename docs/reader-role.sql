-- Roles for reports: parkade_reader reads numbers, ids and states of its sources, parkade_reader_payloads the bodies of events as well.
-- Run it as the owner of the database, with CREATEROLE, once and after each upgrade: see docs/hardening.md.
begin;
set local lock_timeout = '10s'; -- a report that reads these views
do $$ begin
  if to_regrole('parkade_reader') is null then create role parkade_reader nologin; end if;
  if to_regrole('parkade_reader_payloads') is null then create role parkade_reader_payloads nologin; end if;
end $$;
create schema if not exists reading;
create table if not exists reading.readers (role_name name primary key, sources text[] not null check (cardinality(sources) > 0));

-- The sources of the role that signed in and of its groups: no statement of a reader can change session_user. The functions run as their owner,
-- so they read nothing that web and worker own: the owner of a table can replace it by a view.
create or replace function reading.sees_all() returns boolean language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from reading.readers r join pg_catalog.pg_roles g on g.rolname = r.role_name
    where pg_catalog.pg_has_role(session_user, g.oid, 'member') and '*' = any (r.sources)) $$;
create or replace function reading.source_names() returns text[] language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(n), '{}') from reading.readers r join pg_catalog.pg_roles g on g.rolname = r.role_name, unnest(r.sources) n
    where pg_catalog.pg_has_role(session_user, g.oid, 'member') $$;

drop view if exists reading.sources, reading.events, reading.levels, reading.flow_hours, reading.flow_days, reading.redrives,
  reading.redrive_items, reading.event_bodies;
drop function if exists reading.source_ids();
-- Without the barrier a function of a reader would see the rows of others. The subselects are evaluated once for a statement.
create view reading.sources with (security_barrier) as
  select s.id, s.name, s.kind, s.mode, s.created_at from public.sources s
   where (select reading.sees_all()) or s.name = any ((select reading.source_names())::text[]);
create view reading.events with (security_barrier) as
  select e.id, s.name as source, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, e.fingerprint, e.first_seen, e.status,
         e.attempts, e.bounces, e.redrives, e.failures, e.last_attempt_at, e.redrive_at, e.confirmed_at
    from public.dlq_events e join public.sources s on s.id = e.source_id where e.source_id = any (array(select v.id from reading.sources v));
create view reading.levels with (security_barrier) as
  select s.name as source, l.error_code, l.status, sum(l.n)::bigint as events
    from public.dlq_level_sums l join public.sources s on s.id = l.source_id
   where l.source_id = any (array(select v.id from reading.sources v)) group by 1, 2, 3;
create view reading.flow_hours with (security_barrier) as
  select f.at, s.name as source, f.error_code, f.parked, f.bounced, f.redriven, f.confirmed, f.unconfirmed, f.failed, f.ignored, f.released,
         f.corrected, f.expired, f.dropped, f.rejected, f.duplicate
    from public.dlq_flow_hours f join public.sources s on s.id = f.source_id where f.source_id = any (array(select v.id from reading.sources v));
create view reading.flow_days with (security_barrier) as
  select f.at, s.name as source, f.error_code, f.parked, f.bounced, f.redriven, f.confirmed, f.unconfirmed, f.failed, f.ignored, f.released,
         f.corrected, f.expired, f.dropped, f.rejected, f.duplicate
    from public.dlq_flow_days f join public.sources s on s.id = f.source_id where f.source_id = any (array(select v.id from reading.sources v));
create view reading.redrives with (security_barrier) as
  select r.id, r.state, r.mode, r.lane, r.sources, r.total, r.delivered, r.passed, r.confirmed, r.failed, r.refused, r.cancelled, r.bounced,
         r.created_at, r.started_at, r.finished_at
    from public.redrives r
   where (select reading.sees_all()) or r.sources <@ (select reading.source_names());
create view reading.redrive_items with (security_barrier) as
  select i.id as event, i.redrive_id, s.name as source, i.state, i.result, coalesce(o.attempts, i.attempts) as attempts, i.finished_at
    from public.redrive_items i left join public.open_items o on o.id = i.id and o.redrive_id = i.redrive_id
    join public.sources s on s.id = i.source_id where i.source_id = any (array(select v.id from reading.sources v));
create view reading.event_bodies with (security_barrier) as
  select e.id, s.name as source, b.content_type, b.headers, b.payload, b.error_type, b.error_message, b.error_detail
    from public.dlq_events e join public.dlq_event_bodies b on b.id = e.id join public.sources s on s.id = e.source_id
   where e.source_id = any (array(select v.id from reading.sources v));

revoke all on all functions in schema reading from public;
grant usage on schema reading to parkade_reader, parkade_reader_payloads;
grant execute on all functions in schema reading to parkade_reader, parkade_reader_payloads;
grant select on reading.sources, reading.events, reading.levels, reading.flow_hours, reading.flow_days, reading.redrives, reading.redrive_items
  to parkade_reader, parkade_reader_payloads;
grant select on reading.event_bodies to parkade_reader_payloads;
commit;
