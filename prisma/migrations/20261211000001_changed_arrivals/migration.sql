-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- A letter of a known event with other bytes is a revision whose cause is 'arrived': the letter's own origin is kept with it, so
-- that it is known when its broker delivers it again. Of other revisions it is null.
alter table event_revisions add column origin jsonb;

-- SHA-256 of the bytes of each revision, so that a letter with other bytes is told from a repeat without the archive; null = archived
-- by a release that did not store them.
alter table archived_events add column hashes bytea[];
