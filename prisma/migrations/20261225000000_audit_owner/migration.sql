-- What runs with the rights of the owner of the audit, and all that it calls, in a schema in which the role of web and worker may not create.
-- Every name is qualified, and the path has nothing of that role's.
create schema audit_owner;

create function audit_owner.forget_in_json(value jsonb, texts text) returns jsonb
    language plpgsql immutable
    as $_$
begin
  case jsonb_typeof(value)
    when 'string' then
      return to_jsonb(regexp_replace(value #>> '{}', texts, '[forgotten]', 'g'));
    when 'number' then
      return case when value #>> '{}' ~ ('^(?:' || texts || ')$') then '"[forgotten]"'::jsonb else value end;
    when 'array' then
      return coalesce((select jsonb_agg(audit_owner.forget_in_json(e, texts) order by n)
                         from jsonb_array_elements(value) with ordinality as x(e, n)), '[]'::jsonb);
    when 'object' then
      return coalesce((select jsonb_object_agg(regexp_replace(k, texts, '[forgotten]', 'g'), audit_owner.forget_in_json(e, texts))
                         from jsonb_each(value) as x(k, e)), '{}'::jsonb);
    else
      return value;
  end case;
end $_$;

-- The audit itself says whether the forget runs: the caller can add to it, and cannot take back what it has added. A pattern that also
-- matches a random text would empty the audit.
create function audit_owner.redact_audit_entries(forget uuid, texts text, jsons text, after_id uuid, batch integer)
    returns table(last_id uuid, redacted integer)
    language plpgsql security definer
    set search_path to pg_catalog, pg_temp
    as $$
declare
  probe text := concat_ws(' ', gen_random_uuid(), translate(gen_random_uuid()::text, '0123456789abcdef-', 'ghijklmnopqrstuvw'));
begin
  if not exists (select from public.audit_entries a
                  where a.subject_kind = 'forget' and a.subject_id = forget::text and a.action = 'data.forgotten')
     or exists (select from public.audit_entries a
                 where a.subject_kind = 'forget' and a.subject_id = forget::text and a.action = 'data.forget-ended') then
    raise exception 'no forget % runs', forget;
  end if;
  if texts is null or jsons is null or probe ~ texts or to_jsonb(probe)::text ~ jsons then
    raise exception 'the patterns of forget % match any text', forget;
  end if;
  return query
    with page as materialized (
      select a.id from public.audit_entries a where after_id is null or a.id > after_id order by a.id limit batch
    ), changed as (
      update public.audit_entries a
         set reason = regexp_replace(a.reason, texts, '[forgotten]', 'g'),
             subject_id = regexp_replace(a.subject_id, texts, '[forgotten]', 'g'),
             before = audit_owner.forget_in_json(a.before, texts),
             after = audit_owner.forget_in_json(a.after, texts)
        from page p
       where a.id = p.id
         and (a.reason ~ texts or a.subject_id ~ texts or a.before::text ~ jsons or a.after::text ~ jsons)
      returning a.id
    ), marked as (
      insert into public.audit_pending (entry_id, ref, kind) select c.id, forget, 'redaction' from changed c
      on conflict do nothing
    )
    select (select max(p.id::text)::uuid from page p), (select count(*)::integer from changed);
end $$;

revoke all on all functions in schema audit_owner from public;

drop function public.redact_audit_entries(uuid, uuid, integer);
drop function public.forget_in_json(jsonb, text);

-- How many entries a forget has changed is compared with what its end says.
create index audit_seals_redactions on audit_seals (ref, seq) where kind = 'redaction';
