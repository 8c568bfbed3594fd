-- What a redrive does about earlier versions that stay parked: hold (send nothing that is behind them), include (take
-- them along) or pass (send all the same). Redrives asked for before there was a choice sent all the same.

alter table redrives add column earlier text not null default 'pass' check (earlier in ('hold', 'include', 'pass'));
alter table redrives alter column earlier set default 'hold';

-- The head of an aggregate is the first row of a range, and so is the newest version that its consumer has processed.
create index dlq_events_order     on dlq_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version, id) where status in ('PENDING', 'IGNORED') and aggregate_id is not null;
create index dlq_events_processed on dlq_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version) where status = 'REDRIVEN' and confirmed_at is not null and aggregate_id is not null and version is not null;
