-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
-- The worker looks at the groups that are not moved in turn, so that none waits for the newest, and is done with a group when
-- no transaction is left that could park by the aliases of before. See docs/adr/0165.
alter table group_aliases
  add column due_at timestamptz default now() not null, -- when it is looked at next, the earliest first
  add column awaits text[]; -- the transactions that were open when it was first looked at; null = not looked at yet
create index group_aliases_due on group_aliases (due_at, fingerprint) where moved_at is null;
