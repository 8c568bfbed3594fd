-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- The blacklists that Parkade imposes on aggregates that keep failing are controls like those of people.
insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by, created_at, redrive_id)
select a.blacklist_id, 'blacklist', 'aggregateId', a.aggregate_id, s.name, a.aggregate_type, a.blacklist_reason, 'automatic', 'worker',
       a.blacklisted_at, a.blacklist_redrive
  from aggregates a join sources s on s.id = a.source_id
 where a.blacklist_id is not null;
alter table aggregates drop column blacklist_id, drop column blacklisted_at, drop column blacklist_reason, drop column blacklist_redrive;

-- There may be a million automatic ones. Those of people, which are few, are found without them, and so is each page of the list.
drop index controls_live;
create index controls_over on controls (scope, value);
create unique index controls_automatic on controls (value, source, aggregate_type) where lifted_at is null and origin = 'automatic';
create index controls_of_people on controls (created_at) where origin = 'person';
create index controls_in_force on controls (id) where lifted_at is null;
create index controls_ended on controls (id) where lifted_at is not null or expires_at is not null;
