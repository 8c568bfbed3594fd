-- The table of lib/kit/outbox: an order of insertion, leases of claims, bytes as payload. Nothing has written to it so far.
alter table outbox alter column headers drop default;
update outbox o set headers = coalesce(
  (select jsonb_agg(jsonb_build_array(h.key, h.value)) from jsonb_each_text(o.headers) h), '[]');
alter table outbox
  alter column headers set default '[]',
  alter column id type text using id::text,
  alter column aggregate_type set default '',
  alter column payload type bytea using convert_to(payload::text, 'UTF8'),
  add column seq bigint generated always as identity,
  add column destination text not null default '',
  add column message_key text,
  add column claim uuid,
  add column claimed_until timestamptz;
alter table outbox alter column destination drop default;
alter table outbox set (fillfactor = 70);
drop index outbox_due;
drop index outbox_order;
create index outbox_new on outbox (seq) where status = 'NEW';
create index outbox_order on outbox (aggregate_id, aggregate_type, seq) where status <> 'SENT';
create index outbox_sent on outbox (sent_at) where status = 'SENT';
