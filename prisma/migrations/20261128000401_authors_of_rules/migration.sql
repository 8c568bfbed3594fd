-- Who may not approve what a redrive rule asked for: whoever wrote the rule, and had switched it on, when it ran.

alter table redrive_rules
  add column authors text[] not null default '{}';                -- each person who made a version of it
alter table redrive_rule_runs
  add column authors text[] not null default '{}';                -- those who had written the rule, and switched it on, at the run

update redrive_rules r
   set authors = array(select distinct name from unnest(array[r.created_by, r.updated_by]) name order by name);
update redrive_rule_runs n
   set authors = array(select distinct name from unnest(r.authors || r.enabled_by) name where name is not null order by name)
  from redrive_rules r where r.id = n.rule_id;
