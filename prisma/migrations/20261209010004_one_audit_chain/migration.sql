-- One chain in place of three. Each hash covers the hash before it, so three chains cannot be joined: the entries are sealed anew, as they are
-- now. What the old chains can show no more is in one entry: where they ended, to compare with anchors outside, and a finding that stood.
insert into audit_entries (id, at, actor, action, subject_kind, subject_id, reason, before)
-- A UUIDv7: the milliseconds in the first six bytes, and the version's bits.
select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
         placing substring(int8send((extract(epoch from now()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
       now(), 'parkade', 'audit.sealed-anew', 'setting', 'audit', 'this release has one chain in place of three',
       jsonb_build_object(
         'chains', jsonb_agg(jsonb_build_object('scope', s.scope, 'seq', s.seq, 'chainHash', encode(s.chain_hash, 'hex')) order by s.scope),
         'finding', (select v.result -> 'first' from audit_verifications v
                      where v.good = false and not exists (select from audit_verifications w
                        where w.id > v.id and w.extent = 'whole' and w.good and w.fault is null)
                      order by v.id desc limit 1))
  from audit_seals s where s.seq = (select max(l.seq) from audit_seals l where l.scope = s.scope)
having count(*) > 0;

truncate audit_seals, audit_anchors, audit_verifications;
alter table audit_seals drop column scope, add primary key (seq);
alter table audit_anchors drop column scope;
alter table audit_verifications drop column anchors;

-- Without a time: as many wait as there are entries, and that is no finding.
update audit_pending set since = null;
insert into audit_pending (entry_id, ref, since) select id, id, null from audit_entries on conflict do nothing;
insert into audit_pending (entry_id, ref, kind, since)
select distinct entry_id, part, 'subjects', null::timestamptz from audit_subjects where part is not null on conflict do nothing;
