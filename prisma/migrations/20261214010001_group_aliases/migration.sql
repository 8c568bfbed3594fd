-- Which group stands for another: merges and splits by people, storms of shapes, and groups of earlier rules of grouping. See docs/adr/0165.
create table group_aliases (
  fingerprint text primary key, -- what the rules compute for a failure; of a storm's template a hash that no failure has
  target text not null, -- the group that it stands for, which is no alias of another: chains are flattened when they are written
  via text, -- the group that stood for it before its target was merged: where a split of that one returns it to
  reason text not null,
  pattern text not null, -- the message pattern that the group had
  family text, -- of a storm: what the patterns of the template have in common beside their message
  source_id uuid, -- of a storm: the only source of it
  template text, -- of a storm: the patterns that belong to it
  note text, -- the reason that a person gave
  created_by text not null,
  created_at timestamptz default now() not null,
  moved_at timestamptz, -- when all that was stored had moved; null = events or history are still to be moved
  constraint group_aliases_reason_check check (reason in ('rules', 'storm', 'merge', 'split')),
  constraint group_aliases_storm_check check ((family is null) = (template is null) and (family is null) = (source_id is null))
);
create index group_aliases_target on group_aliases (target);
create index group_aliases_open on group_aliases (target, fingerprint) where (moved_at is null);
-- What intake keeps in memory.
create index group_aliases_deciding on group_aliases (fingerprint) where (reason in ('merge', 'split') or family is not null);

alter table dlq_groups
  add column family text, -- hash of error code, exception type and first frame; null = the group of a storm, or of version 1
  add column grouping_version integer default 1 not null, -- of the rules that made it; 0 = its events are examined again
  add column examined jsonb; -- how far its events have been examined by newer rules, and the groups that they belong to
create index dlq_groups_first_seen on dlq_groups (first_seen);
create index dlq_groups_grouping on dlq_groups (grouping_version, fingerprint);
