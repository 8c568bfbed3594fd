-- warm_up_ms: a redrive begins at a third of the target's rate and reaches it after this long; 0 = at once.
-- no_bursts: sends leave one by one at an even rate, also after a rest.
-- fallback: what becomes of a send while the target takes none; null = it waits or is refused.
alter table targets
  add column warm_up_ms integer not null default 0,
  add column no_bursts boolean not null default false,
  add column fallback jsonb;
