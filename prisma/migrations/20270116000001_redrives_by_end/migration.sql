-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- Charts mark the ends of a window, and the status counts what was sent by redrives that ended lately.
create index redrives_ended on redrives (finished_at) where finished_at is not null;
