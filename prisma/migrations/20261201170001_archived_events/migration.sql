-- Events that were removed from the store lie in objects of the archive. An object is written once, read back, and then named here in the
-- transaction that removes its events: what is named here is in the archive, and what is removed is named here.
alter table bulk_operations drop constraint bulk_operations_kind_check;
alter table bulk_operations add constraint bulk_operations_kind_check
  check (kind in ('ignore', 'release', 'confirm', 'mend', 'undo-mend', 'remove'));
-- Why a worker could not work the next chunk; null = it could.
alter table bulk_operations add column fault text;

create table archive_objects (
  id            uuid primary key,                        -- UUIDv7
  operation_id  uuid not null,                           -- the bulk operation that removed its events
  source        text not null,                           -- name of the source of all of its events, as it was then
  key           text not null unique,                    -- in the archive
  events        integer not null,
  bytes         bigint not null,                         -- of the object
  sha256        text not null,                           -- of the object, 64 hex digits
  removed_by    text not null,
  removed_at    timestamptz not null
);
create index archive_objects_operation on archive_objects (operation_id, id);

-- Finds an archived event again. A row goes when its event comes back.
create table archived_events (
  id             uuid primary key,                       -- of the event
  object_id      uuid not null,
  source_id      uuid not null,
  source         text not null,                          -- its name then
  event_id       text not null,
  aggregate_id   text,
  aggregate_type text not null default '',
  version        bigint,
  event_type     text,
  error_code     text not null,
  status         text not null,
  payload_bytes  integer not null
);
create index archived_events_event on archived_events (event_id, source_id);
create index archived_events_aggregate on archived_events (aggregate_id, id) where aggregate_id is not null;
create index archived_events_code on archived_events (error_code, id);
create index archived_events_source on archived_events (source, id);
create index archived_events_object on archived_events (object_id);
