-- Events that were confirmed before `confirmed_redrive` was there name the redrive that delivered them, too: when such an event
-- comes back, that redrive takes its confirmation back. Redrives no longer count those that had come back by then.

update dlq_events e set confirmed_redrive = d.redrive_id
  from (select distinct on (id) id, redrive_id from redrive_items where state = 'delivered'
         order by id, finished_at desc) d
 where e.id = d.id and e.status = 'REDRIVEN' and e.confirmed_at is not null and e.confirmed_redrive is null
   and d.redrive_id <> all (coalesce(e.bounced_redrives, '{}'));

update redrives r set confirmed = c.n
  from (select r.id, count(e.id) as n from redrives r left join dlq_events e on e.confirmed_redrive = r.id group by r.id) c
 where r.id = c.id and r.confirmed <> c.n;
