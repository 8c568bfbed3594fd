-- Replaces what the pattern finds in the texts and names of JSON, and numbers that it finds whole. In the text of JSON a number that is
-- replaced would leave no JSON.
create function forget_in_json(value jsonb, texts text) returns jsonb language plpgsql immutable as $$
begin
  case jsonb_typeof(value)
    when 'string' then
      return to_jsonb(regexp_replace(value #>> '{}', texts, '[forgotten]', 'g'));
    when 'number' then
      return case when value #>> '{}' ~ ('^(?:' || texts || ')$') then '"[forgotten]"'::jsonb else value end;
    when 'array' then
      return coalesce((select jsonb_agg(forget_in_json(e, texts) order by n)
                         from jsonb_array_elements(value) with ordinality as x(e, n)), '[]'::jsonb);
    when 'object' then
      return coalesce((select jsonb_object_agg(regexp_replace(k, texts, '[forgotten]', 'g'), forget_in_json(e, texts))
                         from jsonb_each(value) as x(k, e)), '{}'::jsonb);
    else
      return value;
  end case;
end $$;

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
    )
    select (select max(p.id::text)::uuid from page p), (select count(*)::integer from changed);
end $$;

-- Of an object whose events lie in another one now: a forget has not ended while it is in the archive.
alter table archive_leftovers add column replaced boolean not null default false;
