-- The row of dlq_event_bodies is revision 1: what arrived first. From here on it is never updated. Each further state of
-- an event's bytes is a row of event_revisions; what each bounce brought beside bytes is a row of event_bounces.
-- Both are partitioned like the bodies, so that a day is dropped with all that belongs to it.

create table event_revisions (
  id            uuid not null,                       -- the event
  revision      integer not null check (revision > 1),
  cause         text not null,                       -- bounce | edit | mend
  base          integer not null,                    -- the revision that it was made from; of a bounce: that was sent
  bounce        integer,                             -- of a bounce: its row of event_bounces
  actor         text not null,
  reason        text,
  at            timestamptz not null,
  patch         jsonb,                               -- what was asked for: an edit's patch, a mend's recipe
  operation_id  uuid,                                -- the bulk operation of a mend
  payload       bytea not null,
  content_type  text not null,
  headers       jsonb not null default '[]',
  primary key (id, revision)
) partition by range (id);
create index event_revisions_operation on event_revisions (operation_id, id) where operation_id is not null;
do $$ begin
  alter table event_revisions alter column payload set compression lz4;
exception when feature_not_supported then null;
end $$;

create table event_bounces (
  id            uuid not null,                       -- the event
  bounce        integer not null,                    -- dlq_events.bounces with this one
  at            timestamptz not null,
  redrive_id    uuid,                                -- null = no longer stored
  sent          integer not null,                    -- the revision that came back
  error_type    text,
  error_message text,
  error_detail  text,
  headers       jsonb not null default '[]',
  origin        jsonb not null default '{}',
  admission     jsonb,
  primary key (id, bounce)
) partition by range (id);

do $$
declare day record; parent text;
begin
  for day in select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
               from pg_inherits i join pg_class c on c.oid = i.inhrelid
              where i.inhparent = 'dlq_event_bodies'::regclass loop
    foreach parent in array array['event_revisions', 'event_bounces'] loop
      execute format('create table %I partition of %I %s',
                     replace(day.name, 'dlq_event_bodies', parent), parent, day.bounds);
    end loop;
  end loop;
end $$;

-- A constant default rewrites no table. What was sent before this migration was the only revision there was.
alter table dlq_events       add column revision integer not null default 1;   -- the current one
alter table redrive_items    add column revision integer not null default 1;   -- frozen with the item
alter table redrive_attempts add column revision integer not null default 1;   -- what was sent

create or replace view dlq_event_rows as
select e.id, e.source_id, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, e.fingerprint,
       e.first_seen, e.status, e.attempts, e.bounces, e.redrives, e.failures, e.last_attempt_at, e.redrive_at,
       e.confirmed_at, e.cooldown_until, e.last_operator, e.bounced_redrives,
       e.confirmed_redrive,
       f.aggregate_id as found_aggregate_id,
       f.event_type, f.trace_id, f.failed_at, f.last_error_code, f.last_error, f.payload_bytes, f.tags,
       e.admission, e.revision
  from dlq_events e left join dlq_event_facts f on f.id = e.id;
