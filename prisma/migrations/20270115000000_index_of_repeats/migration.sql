-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- Contracts read the newest repeats every few seconds. First attempts are not in the index, so the send of an event that succeeds
-- writes no entry.
create index redrive_attempts_repeated on redrive_attempts (opened_at) where attempt > 1;
