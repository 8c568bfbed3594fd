-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

do $$
begin
  -- A store without data keys has no encrypted body. Only others are read through.
  if (exists (select from data_keys) or exists (select from encryption_progress))
     and (exists (select from dlq_event_bodies where data_key is not null)
          or exists (select from event_revisions where data_key is not null)
          or exists (select from event_bounces where data_key is not null)) then
    raise exception 'This release does not read encrypted bodies, and the store still has some: start 0.1.0 with PARKADE_ENCRYPTION_KEY_ID=none and its keys in PARKADE_ENCRYPTION_KEYS, and upgrade when GET /api/v1/status says "ended": true and "bodies": 0 for each key';
  end if;
end $$;

-- The views of reports are made again after the migrations.
drop view if exists reading.event_bodies;
alter table dlq_event_bodies drop column data_key, drop column sealed;
alter table event_revisions drop column data_key, drop column sealed;
alter table event_bounces drop column data_key, drop column sealed;
drop table data_keys;
drop table encryption_progress;
