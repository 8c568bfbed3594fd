-- Programs that ask to act for a person, such as `parkade login`. A row lives for ten minutes. The program has the secret, and the
-- code stands on its screen: here are their SHA-256. The token is made when the program takes it, so that no secret waits here.
create table device_sign_ins (
  secret_hash  bytea primary key,
  code_hash    bytea not null unique,
  -- As the program says it.
  name         text not null,
  address      text,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  decision     text check (decision in ('confirmed', 'denied')),
  account_id   uuid references accounts (id) on delete cascade,
  -- Of the token, once a person has confirmed.
  days         int,
  actions      text[],
  sources      text[],
  check ((decision is null) = (account_id is null)),
  check ((decision = 'confirmed') = (days is not null))
);
create index device_sign_ins_of_account on device_sign_ins (account_id) where account_id is not null;
