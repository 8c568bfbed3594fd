-- Ignore, release and confirm of a set that is too large for one request: a worker changes it in chunks up to the cutoff.
create table bulk_operations (
  id                uuid primary key,                   -- UUIDv7
  kind              text not null check (kind in ('ignore', 'release', 'confirm')),
  state             text not null check (state in ('RUNNING', 'DONE', 'CANCELLED')),
  selection         jsonb not null,                     -- { ids }, { filter } or { operation }, as asked, and asOfMs
  options           jsonb not null default '{}',        -- release: { keepLimits }; confirm: { consumer }
  cutoff            uuid not null,                      -- later arrivals are not included
  cursor            uuid,                               -- the last event of the last chunk; null = no chunk yet
  expected          bigint not null,                    -- how many events were selected
  expected_kind     text not null check (expected_kind in ('exact', 'estimated')),
  changed           bigint not null default 0,
  refused           bigint not null default 0,
  refused_by_reason jsonb not null default '{}',
  audit_id          uuid not null unique,               -- its one audit entry; the subjects come with each chunk
  created_by        text not null,
  reason            text not null,
  cancelled_by      text,
  created_at        timestamptz not null default now(),
  started_at        timestamptz,                        -- the first chunk began
  worked_at         timestamptz,                        -- the last chunk was committed
  finished_at       timestamptz
);
create index bulk_operations_live on bulk_operations (id) where state = 'RUNNING';
