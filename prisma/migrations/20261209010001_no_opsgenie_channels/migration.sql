-- The kind "opsgenie" is gone: a stored channel of it could be neither read nor sent to. What an operation or a rule told it goes with it
-- (on delete cascade); its messages are found by its id.
with gone as (
  delete from alert_channels where kind = 'opsgenie' returning id, name, enabled, severities, sources, config
), unsent as (
  delete from alert_outbox where destination in (select id::text from gone)
), entries as (
  insert into audit_entries (id, at, actor, action, subject_kind, subject_id, reason, before)
  -- A UUIDv7: the milliseconds in the first six bytes, and the version's bits.
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
           placing substring(int8send((extract(epoch from now()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
         now(), 'parkade', 'channel.deleted', 'channel', name, 'this release has no channels of the kind opsgenie',
         jsonb_build_object('enabled', enabled, 'severities', severities, 'sources', sources,
                            'config', jsonb_build_object('kind', 'opsgenie', 'apiKey', config -> 'apiKey'))
    from gone
  returning id
)
insert into audit_pending (entry_id, ref) select id, id from entries;
