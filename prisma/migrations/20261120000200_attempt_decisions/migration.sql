-- What the retry engine decided after a failed attempt, with everything it saw: a replay can decide it again. Null for
-- an attempt that succeeded, was cancelled, or was cut off with its worker: there nothing was decided.

alter table redrive_attempts add column decision jsonb;
