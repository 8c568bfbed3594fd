-- All statements wait behind one that waits for this table: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
lock table dlq_events in access exclusive mode;

-- The events that one commit delivered, until their quiet window is over. An index of times of delivery took an entry for each
-- event, and made its end an update of every index.
create table quiet_windows (
  since timestamptz not null, -- the delivery
  id uuid default gen_random_uuid() not null,
  event_ids uuid[] not null,
  primary key (since, id)
);

insert into quiet_windows (since, event_ids)
select max(redrive_at), array_agg(id)
  from (select id, coalesce(redrive_at, now()) as redrive_at, (row_number() over (order by redrive_at) - 1) / 250 as part
          from dlq_events where status = 'REDRIVEN' and confirmed_at is null) delivered
 group by part;

drop index dlq_events_unconfirmed;
