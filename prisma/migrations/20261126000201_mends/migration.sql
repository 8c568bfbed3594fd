-- A mend revises many events by one recipe; undo-mend makes the revisions before it current again. Both are bulk operations.
alter table bulk_operations drop constraint bulk_operations_kind_check;
alter table bulk_operations add constraint bulk_operations_kind_check
  check (kind in ('ignore', 'release', 'confirm', 'mend', 'undo-mend'));

-- What a running mend works on, frozen when it was requested; removed when it ends. What it made of an event is its row in
-- event_revisions.
create table mend_items (
  operation_id uuid not null,
  event_id     uuid not null,
  base         integer not null,                        -- the current revision then
  primary key (operation_id, event_id)
);

-- Recipes with a name. A name that is saved again is a further version; a version is never changed.
create table recipes (
  id         uuid primary key,                          -- UUIDv7
  name       text not null,
  version    integer not null,
  recipe     jsonb not null,
  source     text,                                      -- only who sees it sees the recipe; null = everybody
  created_by text not null,
  created_at timestamptz not null default now(),
  unique (name, version)
);
