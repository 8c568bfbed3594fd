-- Who may sign in, and programs that act for a source. `name_key` is the name without case, accents, width, spaces and
-- punctuation: two accounts never look like one person.
create table accounts (
  id            uuid primary key,
  kind          text not null check (kind in ('person', 'service')),
  name          text not null,
  name_key      text not null unique,
  email         text,
  -- scrypt with its parameters; null = no sign-in by password.
  password      text,
  totp_secret   bytea,
  -- null = the secret is not confirmed yet, and no code is asked for.
  totp_since    timestamptz,
  -- The last step of 30 s whose code was used: a code works once.
  totp_step     bigint,
  recovery_codes bytea[] not null default '{}',
  role          text not null check (role in ('viewer', 'operator', 'approver', 'admin')),
  -- Beside those of the role.
  actions       text[] not null default '{}',
  -- null = every source.
  sources       text[],
  oidc_issuer   text,
  oidc_subject  text,
  -- Role and sources come from the groups at each sign-in.
  oidc_managed  boolean not null default false,
  created_at    timestamptz not null default now(),
  created_by    text not null,
  updated_at    timestamptz not null default now(),
  disabled_at   timestamptz,
  signed_in_at  timestamptz,
  version       int not null default 1,
  check ((oidc_issuer is null) = (oidc_subject is null)),
  check (kind = 'person' or (password is null and totp_secret is null and oidc_subject is null)),
  unique (oidc_issuer, oidc_subject)
);

-- The secret is in the cookie alone; here is its SHA-256.
create table sessions (
  id           uuid primary key,
  secret_hash  bytea not null unique,
  account_id   uuid not null references accounts (id) on delete cascade,
  means        text not null check (means in ('password', 'oidc', 'link')),
  created_at   timestamptz not null default now(),
  seen_at      timestamptz not null default now(),
  -- Whatever comes first of this and the idle time.
  expires_at   timestamptz not null,
  address      text,
  agent        text,
  oidc_sid     text
);
create index sessions_of_account on sessions (account_id, created_at desc);

create table api_tokens (
  id            uuid primary key,
  hash          bytea not null unique,
  -- The first letters, by which a person knows it again.
  hint          text not null,
  account_id    uuid not null references accounts (id) on delete cascade,
  name          text not null,
  -- Narrower than the account; null = as the account.
  actions       text[],
  sources       text[],
  created_at    timestamptz not null default now(),
  created_by    text not null,
  expires_at    timestamptz not null,
  used_at       timestamptz,
  used_address  text,
  revoked_at    timestamptz,
  revoked_by    text
);
create index api_tokens_of_account on api_tokens (account_id, created_at desc);

-- One-time links: the first administrator, an invitation, a new password.
create table account_links (
  hash        bytea primary key,
  purpose     text not null check (purpose in ('setup', 'invitation', 'reset')),
  -- null = the account is made when the link is used.
  account_id  uuid references accounts (id) on delete cascade,
  created_by  text not null,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null,
  check ((purpose = 'setup') = (account_id is null))
);

-- Failed tries in a row, by account and by address. A row is forgotten an hour after the last try.
create table sign_in_tries (
  key       text primary key,
  failures  int not null,
  last_at   timestamptz not null,
  until_at  timestamptz not null
);

-- A sign-in at the OpenID provider under way. Each is taken once.
create table oidc_flows (
  state_hash    bytea primary key,
  browser_hash  bytea not null,
  nonce         text not null,
  verifier      text not null,
  return_to     text not null,
  expires_at    timestamptz not null
);
