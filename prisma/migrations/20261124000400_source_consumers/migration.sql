-- How a source is read, by whose order, and what each worker reports of it.

alter table sources
  add column mode text not null default 'running' check (mode in ('running', 'paused', 'draining', 'stopped')),
  add column mode_at timestamptz not null default now(),   -- since when it has this mode
  add column mode_by text,                                 -- who set it; null = nobody since the source was made
  add column mode_reason text,
  add column retried_at timestamptz;                       -- the last time somebody asked for an attempt at once

update sources set mode = 'stopped', mode_at = updated_at where not enabled;
alter table sources drop column enabled, drop column state;

create table source_consumers (
  source_id       uuid not null,
  worker          text not null,
  state           text not null,
  since           timestamptz not null default now(),      -- of the state
  at              timestamptz not null default now(),      -- of the report
  mode_at         timestamptz not null,                    -- sources.mode_at of the mode that the worker obeys
  lag             bigint,                                  -- null = unknown
  parked          bigint not null,                         -- since this consumer began
  rate_per_second float8,                                  -- parked, over the last minute
  last_error      text,                                    -- kept after the recovery
  last_error_at   timestamptz,
  recovered_at    timestamptz,                             -- null = the last error lasts
  retry_at        timestamptz,                             -- when it connects again
  parts           jsonb not null default '[]',             -- [{name, lag}]
  part_count      integer not null default 0,
  primary key (source_id, worker)
) with (fillfactor = 50);                                  -- each row is written every two seconds
