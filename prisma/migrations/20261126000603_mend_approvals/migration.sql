-- A mend waits for an approval as a redrive does: true exactly while one of it is asked for.

alter table bulk_operations add column awaits_approval boolean not null default false;
