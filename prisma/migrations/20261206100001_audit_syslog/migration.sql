-- How far each chain of the audit was sent to the syslog server.
create table audit_syslog_positions (
  scope       text primary key check (scope in ('access', 'configuration', 'messages')),
  seq         bigint not null,                         -- of the last seal that was sent
  chain_hash  bytea not null,                          -- of that seal: another hash there is another chain, which is sent anew
  sent_at     timestamptz not null
);
