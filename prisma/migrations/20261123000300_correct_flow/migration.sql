-- The flow of each source, error code and group adds up to what is parked of it (I15). Earlier versions counted a bounce at
-- the redrive limit as parked, and never what left: the size chart of the time before it was too low for ever. What is
-- missing is added as `corrected`, in the newest minute in which an event of the group bounced, or else in the group's
-- newest minute. The janitor rolls those minutes into the hours.

with size as (
  select source_id, error_code, fingerprint,
         sum(case when kind in ('parked', 'bounced', 'released') then n when kind in ('redriven', 'ignored') then -n else 0 end) as n,
         max(minute) as newest, max(minute) filter (where kind = 'bounced') as bounced
    from dlq_flow group by source_id, error_code, fingerprint
), counted as (
  select source_id, error_code, fingerprint, count(*) as n
    from dlq_events where status in ('PENDING', 'QUEUED') group by source_id, error_code, fingerprint
)
insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
select coalesce(bounced, newest, date_trunc('minute', now(), 'UTC')), source_id, error_code, fingerprint, 'corrected',
       coalesce(counted.n, 0) - coalesce(size.n, 0)
  from size full join counted using (source_id, error_code, fingerprint)
 where coalesce(counted.n, 0) <> coalesce(size.n, 0);
