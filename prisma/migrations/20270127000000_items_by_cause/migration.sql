-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';
lock table redrives, redrive_items, event_bounces in access exclusive mode;

-- The exceptions of a redrive by their cause: a cause is read without the others.
-- A column of its own: an index over the result would put a row into each index of the items when one is delivered.
alter table redrive_items
  add column cause text generated always as (case when state in ('failed', 'refused', 'cancelled') then result end) stored;
create index redrive_items_causes on redrive_items (redrive_id, exception, cause, id) where exception is not null;

-- The error code that each bounce brought. An earlier bounce of an event gets the code of its last one, which it was shown with.
alter table event_bounces add column error_code text;
update event_bounces n set error_code = coalesce((select e.error_code from dlq_events e where e.id = n.id), 'UNKNOWN');
alter table event_bounces alter column error_code set not null;
create index event_bounces_redrive on event_bounces (redrive_id, id) where redrive_id is not null;
create index event_bounces_causes on event_bounces (redrive_id, error_code, id) where redrive_id is not null;
analyze event_bounces;

alter table redrives add column bounced_by_reason jsonb default '{}'::jsonb not null; -- error code -> bounces of deliveries
update redrives r set bounced_by_reason = b.counts
  from (
    select redrive_id, jsonb_object_agg(error_code, n) as counts
      from (
        select n.redrive_id, n.error_code, count(*) as n
          from event_bounces n join redrive_items i on i.id = n.id and i.redrive_id = n.redrive_id and i.state in ('open', 'delivered')
         group by 1, 2) by_code
     group by 1) b
 where r.id = b.redrive_id;
