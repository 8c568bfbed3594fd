-- The rules that a new store has were named in words that no other console uses. Those that people renamed keep their names.
update alert_rules r set name = n.new
  from (values
    ('Group came back', 'Group returned'),
    ('Redrives fail or come back', 'Redrives fail or bounce'),
    ('Source is not read', 'Source not being read'),
    ('Redrive stands still', 'Redrive stuck'),
    ('Little room left', 'Storage almost full'),
    ('Audit is bad', 'Audit log not intact')
  ) n (old, new)
 where r.name = n.old and r.created_by = 'parkade'
   and not exists (select 1 from alert_rules t where t.name = n.new);
