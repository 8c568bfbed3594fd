-- A person's stop of all sends, or of the sends to one target; and the sends of a redrive at once.

create table stops (
  scope text primary key,                                         -- 'everything', or the id of the target
  target_id uuid,                                                 -- null = everything; of a removed target: over nothing
  reason text not null,
  created_by text not null,
  created_at timestamptz not null,
  lifted_at timestamptz,                                          -- null = in force
  constraint stops_scope check (scope = coalesce(target_id::text, 'everything'))
);

alter table redrives
  add column concurrency int,                                     -- sends at once for each worker; null = the target's places
  add constraint redrives_concurrency check (concurrency >= 1);
