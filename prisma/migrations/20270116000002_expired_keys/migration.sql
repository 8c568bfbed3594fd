-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- Upkeep removes the answers that expired, and read those of a day, with their texts, to find them.
create index idempotency_keys_expiry on idempotency_keys (expires_at);
