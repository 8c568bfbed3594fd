-- The data of a person is forgotten by a key that names it. The row has no key any more once it has ended.
create table forgets (
  id           uuid primary key,                         -- UUIDv7
  key_kind     text not null check (key_kind in ('tag', 'aggregateId', 'pointer')),
  key          jsonb,                                    -- what is forgotten, and where; null = it has ended
  names        text[] not null default '{}',             -- ids of forgotten events and of aggregates without events; emptied at the end
  patterns     jsonb,                                    -- of what is replaced in the audit; null = not yet, or ended
  phase        text not null default 'events' check (phase in ('events', 'archive', 'traces', 'audit')),
  cursor       uuid,                                     -- of the phase; null = it begins
  moved        boolean not null default false,           -- events moved between store and archive: both are looked at again
  counts       jsonb not null default '{}',
  refused      jsonb not null default '{}',              -- events of the last round that stay, by reason
  reason       text not null,
  audit_id     uuid not null,
  created_by   text not null,
  created_at   timestamptz not null,
  worked_at    timestamptz,
  finished_at  timestamptz,                              -- null = it runs
  fault        text,                                     -- why the next step could not be done; null = it could
  check ((finished_at is null) = (key is not null))
);
create index forgets_running on forgets (id) where finished_at is null;

-- That an event was forgotten: counts stay true, and whoever has its address is told. The id is Parkade's own, which says nothing of a person.
create table forgotten_events (
  id         uuid primary key,
  source_id  uuid not null,
  forget_id  uuid not null,
  times      integer not null default 1                  -- it came back from an export, and was forgotten again
);
create index forgotten_events_forget on forgotten_events (forget_id);

-- Objects that are to be removed from the archive: no row names them any more, or none has come to name them by then.
create table archive_leftovers (
  key         text primary key,
  remove_at   timestamptz not null
);

-- The role of the product may only add to the audit. What of it names a forgotten person is replaced here, by the patterns of a forget that
-- runs, and by nothing else.
create function redact_audit_entries(forget uuid, after_id uuid, batch integer)
  returns table (last_id uuid, redacted integer)
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  texts text;
  jsons text;
begin
  select patterns ->> 'text', patterns ->> 'json' into texts, jsons from forgets where id = forget and finished_at is null;
  if texts is null then
    raise exception 'no forget % runs', forget;
  end if;
  return query
    with page as materialized (
      select a.id from audit_entries a where after_id is null or a.id > after_id order by a.id limit batch
    ), changed as (
      update audit_entries a
         set reason = regexp_replace(a.reason, texts, '[forgotten]', 'g'),
             subject_id = regexp_replace(a.subject_id, texts, '[forgotten]', 'g'),
             before = regexp_replace(a.before::text, jsons, '[forgotten]', 'g')::jsonb,
             after = regexp_replace(a.after::text, jsons, '[forgotten]', 'g')::jsonb
        from page p
       where a.id = p.id
         and (a.reason ~ texts or a.subject_id ~ texts or a.before::text ~ jsons or a.after::text ~ jsons)
      returning a.id
    )
    select (select max(p.id::text)::uuid from page p), (select count(*)::integer from changed);
end $$;
