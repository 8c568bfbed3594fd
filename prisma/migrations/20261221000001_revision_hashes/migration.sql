-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- SHA-256 of the bytes of each revision: a letter of a known event is compared with all of them, and reads none. null = stored by an
-- earlier release, whose bytes are hashed when they are compared.
alter table event_revisions add column hash bytea;
