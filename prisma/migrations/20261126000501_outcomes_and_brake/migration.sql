-- Of the delivered items: how many the target had known already, so that nothing new reached it.
alter table redrives add column deduplicated bigint not null default 0;
-- Latencies of the last sends in ms, newest last, for a brake with a bound on them.
alter table redrives add column latencies integer[] not null default '{}';
-- What the brake saw when it paused the redrive; null = it has not, or the redrive was resumed since.
alter table redrives add column brake_seen jsonb;
update redrives set brake = brake || '{"latencyMsMax": null}' where brake is not null;

-- An event that its consumer had processed counts as confirmed in the redrive that found that out.
with known as (
  select e.id, i.redrive_id
    from redrive_items i join dlq_events e on e.id = i.id
   where i.state = 'delivered' and i.result = 'ALREADY_PROCESSED'
     and e.status = 'REDRIVEN' and e.confirmed_at is not null and e.confirmed_redrive is null
     and not exists (select 1 from redrive_items later
                      where later.id = i.id and later.state = 'delivered' and later.finished_at > i.finished_at)
), moved as (
  update dlq_events e set confirmed_redrive = k.redrive_id from known k where e.id = k.id returning k.redrive_id
)
update redrives r set confirmed = r.confirmed + m.n
  from (select redrive_id, count(*) as n from moved group by 1) m where r.id = m.redrive_id;

update redrives r set deduplicated = i.n
  from (select redrive_id, count(*) as n from redrive_items
         where state = 'delivered' and result = 'ALREADY_PROCESSED' group by 1) i
 where r.id = i.redrive_id;
