-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- The audit page shows what people did. What Parkade did by itself, most of a large log, is in none of its pages and not in this index.
create index audit_entries_people on audit_entries (id)
  where actor <> all('{api,consumer,janitor,parkade,reconciler,signature,slow-lane,system,web,worker}'::text[])
    and actor !~ '^(?:source|rule|worker|parkade|system|api):';
