-- The ID token by which a sign-out names the session at the provider, encrypted under the secret of the session's cookie.
alter table sessions add column id_token bytea;

-- Logout tokens of the OpenID provider that were taken: each counts once. By the SHA-256 of `jti`.
create table oidc_logouts (
  jti_hash    bytea primary key,
  -- The token is refused for its age from then on.
  expires_at  timestamptz not null
);
