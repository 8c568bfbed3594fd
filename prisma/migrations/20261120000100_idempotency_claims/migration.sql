-- Requests that carry an Idempotency-Key, where the queue runs on PostgreSQL: who is at one, and what came of it.

create table idempotency_claims (
  key         text primary key,
  fence       bigint not null,                       -- microseconds since the epoch, and above every fence before it
  state       text not null check (state in ('claimed', 'done', 'released')),
  lease_until timestamptz not null,
  expires_at  timestamptz not null,
  result      json                                   -- as it was written: a replay is the same text
);
create index idempotency_claims_expired on idempotency_claims (expires_at);
