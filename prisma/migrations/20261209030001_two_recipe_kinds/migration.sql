-- Recipes are forms and JSON Patches: merge patches and JSONata expressions were removed. Saved recipes of those kinds are deleted,
-- and mends that still run with one are cancelled, as a person would cancel them: what they have changed stays changed, and their
-- recipe stays in `options`, where the history shows it.

-- UUIDv7, which PostgreSQL makes by itself from 18 on.
create function pg_temp.entry_id() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$;

with cancelled as (
  update bulk_operations
     set state = 'CANCELLED', cancelled_by = 'upgrade', awaits_approval = false, finished_at = clock_timestamp()
   where state = 'RUNNING' and kind = 'mend' and options -> 'recipe' ->> 'kind' in ('merge-patch', 'jsonata')
  returning id, changed, pg_temp.entry_id() as entry_id
), withdrawn as (
  update approvals a set state = 'withdrawn', decided_at = now() from cancelled c where a.subject_id = c.id and a.state = 'asked'
), released as (
  delete from mend_items i using cancelled c where i.operation_id = c.id
), pending as (
  insert into audit_pending (entry_id, ref) select entry_id, entry_id from cancelled
)
insert into audit_entries (id, at, actor, action, subject_kind, subject_id, reason, before, after, count)
select entry_id, clock_timestamp(), 'upgrade', 'operation.cancelled', 'operation', id::text,
       'this version has no recipes of this kind: mend with a form or a JSON Patch',
       jsonb_build_object('state', 'RUNNING'), jsonb_build_object('state', 'CANCELLED', 'changed', changed), 1
  from cancelled;

with deleted as (
  delete from recipes where recipe ->> 'kind' in ('merge-patch', 'jsonata')
  returning name, version, recipe, source, pg_temp.entry_id() as entry_id
), pending as (
  insert into audit_pending (entry_id, ref) select entry_id, entry_id from deleted
)
insert into audit_entries (id, at, actor, action, subject_kind, subject_id, reason, before, count)
select entry_id, clock_timestamp(), 'upgrade', 'recipe.deleted', 'recipe', name, 'this version has no recipes of this kind',
       jsonb_build_object('version', version, 'recipe', recipe, 'source', source), 1
  from deleted;
