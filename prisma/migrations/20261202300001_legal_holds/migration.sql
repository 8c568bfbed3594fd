-- What a legal hold in force covers is not removed, not expired and not forgotten, in the store and in the archive. A row is never deleted:
-- a hold ends when it is lifted.
create table legal_holds (
  id             uuid primary key,                       -- UUIDv7
  scope          text not null check (scope in ('eventId', 'aggregateId', 'tag', 'errorCode', 'source')),
  value          text not null,
  tag            text check ((scope = 'tag') = (tag is not null)),   -- the name of the tag
  aggregate_type text,                                   -- null = of any type
  source         text,                                   -- name of the only source; null = of all; of the scope `source` the value
  from_at        timestamptz,                            -- first seen at or after
  to_at          timestamptz,                            -- first seen before
  reason         text not null,
  created_by     text not null,
  created_at     timestamptz not null,
  lifted_by      text,
  lifted_at      timestamptz,
  lift_reason    text
);
create index legal_holds_in_force on legal_holds (scope, value) where lifted_at is null;
