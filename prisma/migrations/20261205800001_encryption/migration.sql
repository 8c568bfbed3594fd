-- Bodies may be encrypted. A data key encrypts many of them, and is stored here as its master key has wrapped it; the master keys
-- are in the configuration alone.
create table data_keys (
  id          uuid primary key,
  -- The id of the master key.
  master_key  text not null,
  wrapped     bytea not null,
  made_at     timestamptz not null default now()
);

-- The columns take milliseconds, but wait until nobody has any of these tables, and everybody waits behind them: for two seconds at
-- most, and then scripts/migrate.ts tries the migration again.
set local lock_timeout = '2s';
lock table dlq_event_bodies, event_revisions, event_bounces in access exclusive mode;

-- data_key: null = the row is stored as it is. Else payload is encrypted, and headers and stack are in sealed.
alter table dlq_event_bodies add column data_key uuid, add column sealed bytea;
alter table event_revisions  add column data_key uuid, add column sealed bytea;
alter table event_bounces    add column data_key uuid, add column sealed bytea;
set local lock_timeout = 0;

-- How far the worker is with events that are not stored as configured. One row; none = keys were never configured.
create table encryption_progress (
  id          int primary key check (id = 1),
  -- Bodies are to be encrypted; false = they are to be stored as they are.
  encrypts    boolean not null,
  -- The newest event that was looked at; null = none.
  cursor      uuid,
  changed     bigint not null default 0,
  unreadable  bigint not null default 0,
  -- When the first pass ended; null = it has not. Some time later a second one looks for what processes with the earlier
  -- configuration had stored meanwhile.
  ended_at    timestamptz,
  passes      int not null default 0,
  -- Bodies by the id of their master key, '' = as they are, '?' = their data key is missing; null = not counted yet.
  counts      jsonb,
  -- The count under way: which table, behind which event, and what it has found; null = none is.
  counting    jsonb,
  counted_at  timestamptz
);
