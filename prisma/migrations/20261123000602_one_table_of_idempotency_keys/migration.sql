-- One table for every request under an Idempotency-Key. A request whose work is one transaction claims its key in it; a
-- longer one, such as a stream of events, holds the key by a lease. Keys that were held in the other table are forgotten:
-- their requests run as new ones.
alter table idempotency_keys alter column fingerprint drop not null;
delete from idempotency_keys where response is null;
-- As text: a repeat gets the answer with its members in the order of the first.
alter table idempotency_keys alter column response type json using json_build_object('answer', response);
alter table idempotency_keys drop column status;
alter table idempotency_keys add column holder uuid;
alter table idempotency_keys add column lease_until timestamptz;
drop table idempotency_claims;
