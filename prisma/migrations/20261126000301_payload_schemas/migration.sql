-- JSON Schemas of payloads by source and event type, every version of them (ADR 0077).

create table payload_schemas (
  id          uuid primary key,
  source_id   uuid not null references sources on delete cascade,
  event_type  text,                                  -- null = events of the types without a schema of their own
  version     integer not null,                      -- counts the versions of the source and type
  body        json not null,                         -- as it was sent: its keys keep their order. Never changes
  current     boolean not null,                      -- in force
  origin      text not null check (origin in ('uploaded', 'inferred', 'source')),
  events_read integer,                               -- of an inferred one
  reason      text,
  created_by  text not null,
  created_at  timestamptz not null default now(),
  unique nulls not distinct (source_id, event_type, version)
);
create unique index payload_schemas_current on payload_schemas (source_id, coalesce(event_type, '')) where current;

insert into payload_schemas (id, source_id, version, body, current, origin, created_by, created_at)
select gen_random_uuid(), id, 1, payload_schema::json, true, 'source', 'parkade', updated_at
  from sources where payload_schema is not null;

alter table sources drop column payload_schema;
