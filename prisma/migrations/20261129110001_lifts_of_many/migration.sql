-- Controls that were lifted together, so that the lift can be taken back; and the redrive that had blacklisted an aggregate.
alter table controls add column lift_id uuid;
alter table controls add column redrive_id uuid;
create index controls_lift on controls (lift_id) where lift_id is not null;
