-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- Workers report how much they send.
drop index redrive_attempts_opened;
