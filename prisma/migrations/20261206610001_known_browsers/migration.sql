-- Browsers that have signed in to an account before: strangers who try its password do not make them wait. A row gives no rights. The
-- secret is in the cookie alone; here is its SHA-256. A browser of two accounts has one secret, and a row for each.
create table known_browsers (
  id           uuid primary key,
  secret_hash  bytea not null,
  account_id   uuid not null references accounts (id) on delete cascade,
  created_at   timestamptz not null default now(),
  -- The last sign-in.
  used_at      timestamptz not null default now(),
  expires_at   timestamptz not null,
  unique (secret_hash, account_id)
);
create index known_browsers_of_account on known_browsers (account_id, used_at desc);
