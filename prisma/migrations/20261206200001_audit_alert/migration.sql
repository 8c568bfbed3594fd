-- A rule of the first start, also where Parkade runs already.
insert into alert_rules (id, name, enabled, severity, body, created_by, created_at, updated_by, updated_at)
select gen_random_uuid(), name, true, 'critical', '{"kind": "audit", "forMs": 0, "clearMs": 0, "repeatMs": 14400000}'::jsonb,
       'parkade', now(), 'parkade', now()
  from (values ('Audit is bad')) added (name)
 where not exists (select from alert_rules r where lower(r.name) = lower(added.name));
