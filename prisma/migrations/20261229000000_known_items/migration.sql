-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- The first item of an ended redrive whose event was known when the redrive was last looked at; null = never looked at.
alter table redrives add column known_item uuid;
