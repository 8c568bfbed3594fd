-- How long a repeat or a bounce of an event that has left the store is recognised; null = for good.
alter table sources add column known_days integer default 400 check (known_days between 7 and 3650);

-- When the keys and the attempts of its events were removed. null = the store has them.
alter table archive_objects add column keys_removed_at timestamptz;
create index archive_objects_known on archive_objects (source, removed_at, id) where keys_removed_at is null;
