-- A target has one bulkhead, its own setting: a policy has none, and a stored one that names it could not be parsed.
update policies set body = body - 'bulkhead' where body ? 'bulkhead';

update redrives r
   set policies = (select jsonb_object_agg(name, case when frozen ? 'body'
                     then jsonb_set(frozen, '{body}', (frozen -> 'body') - 'bulkhead') else frozen end)
                     from jsonb_each(r.policies) as each (name, frozen))
 where r.policies::text like '%"bulkhead"%';
