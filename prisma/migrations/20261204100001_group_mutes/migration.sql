-- A group of which nobody is told until a time, or until so many more of it have arrived.
create table group_mutes (
  id            uuid primary key,          -- UUIDv7
  fingerprint   text not null,
  source        text,                      -- null = every source
  until_at      timestamptz,
  until_more    bigint check (until_more > 0),
  arrived_start bigint not null,           -- arrivals of the group, ever, when it began: until_more counts from here
  reason        text not null,
  created_by    text not null,
  created_at    timestamptz not null,
  ended_at      timestamptz,
  ended_by      text,                      -- null = by itself
  ended_because text check (ended_because in ('lifted', 'replaced', 'time', 'count')),
  check (until_at is not null or until_more is not null),
  check ((ended_at is null) = (ended_because is null))
);
create unique index group_mutes_live on group_mutes (fingerprint, coalesce(source, '')) where ended_at is null;
create index group_mutes_group on group_mutes (fingerprint, id);

-- The alerts of a group, for its page.
create index alerts_group on alerts ((subject ->> 'fingerprint'), id) where subject ->> 'fingerprint' is not null;
