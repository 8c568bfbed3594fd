-- What of the audit is not sealed yet. A row is written in the transaction of its entry, so the transaction that commits last is sealed last,
-- and none is missed. Sealing takes the row away.
create table audit_pending (
  entry_id  uuid not null,
  ref       uuid not null,                             -- of `entry` the entry, of `subjects` their part, of `redaction` the forget
  kind      text not null default 'entry' check (kind in ('entry', 'subjects', 'redaction')),
  since     timestamptz default now(),                 -- null = the entry was written before the audit had seals
  primary key (entry_id, ref)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- One chain for each scope. chain_hash covers the row and the chain_hash before it.
create table audit_seals (
  scope         text not null check (scope in ('access', 'configuration', 'messages')),
  seq           bigint not null,                       -- 1, 2, 3 ... without a gap
  kind          text not null check (kind in ('entry', 'subjects', 'redaction')),
  entry_id      uuid not null,
  ref           uuid not null,                         -- as in audit_pending
  content_hash  bytea not null,                        -- SHA-256 of the columns that nothing may change, or of the events of the part
  text_hash     bytea,                                 -- SHA-256 of the columns in which a forget may replace names; null = of a part
  chain_hash    bytea not null,
  sealed_at     timestamptz not null,
  primary key (scope, seq)
);
create index audit_seals_entry on audit_seals (entry_id);

-- Ends of the chains that were written outside.
create table audit_anchors (
  id          uuid primary key,                        -- UUIDv7
  place       text not null,                           -- where to; no secret in it
  scope       text not null,
  seq         bigint not null,
  chain_hash  bytea not null,
  at          timestamptz not null
);
create index audit_anchors_place on audit_anchors (place, id);

-- A check of the chains: asked for by a viewer, or regular.
create table audit_verifications (
  id            uuid primary key,                      -- UUIDv7
  extent        text not null check (extent in ('whole', 'recent')),
  requested_by  text not null,
  requested_at  timestamptz not null,
  started_at    timestamptz,
  finished_at   timestamptz,
  worked_at     timestamptz,                           -- of the last batch: a check whose worker died begins anew
  seals         bigint not null default 0,             -- looked at so far
  good          boolean,                               -- null = it runs, or could not be done
  result        jsonb,
  anchors       jsonb,                                 -- given with the request
  fault         text
);
create index audit_verifications_open on audit_verifications (id) where finished_at is null;

insert into audit_pending (entry_id, ref, since) select id, id, null from audit_entries order by id;

-- As before, and each entry that changes is sealed anew, with the forget that changed it.
create or replace function redact_audit_entries(forget uuid, after_id uuid, batch integer)
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
             before = forget_in_json(a.before, texts),
             after = forget_in_json(a.after, texts)
        from page p
       where a.id = p.id
         and (a.reason ~ texts or a.subject_id ~ texts or a.before::text ~ jsons or a.after::text ~ jsons)
      returning a.id
    ), marked as (
      insert into audit_pending (entry_id, ref, kind) select c.id, forget, 'redaction' from changed c
      on conflict do nothing
    )
    select (select max(p.id::text)::uuid from page p), (select count(*)::integer from changed);
end $$;

-- Events that were added to an entry after it was written, by the transaction that added them; null = with the entry. The last statement,
-- because it locks the table: the one that reads all entries takes a while.
alter table audit_subjects add column part uuid;
