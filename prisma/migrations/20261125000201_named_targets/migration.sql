-- Targets that a source names beside its two lanes, and redrives that name their target.

alter table targets
  alter column lane drop not null,                           -- null = a named target
  add column destination jsonb,                              -- of a named one: its settings in place of the source's
  add constraint targets_lane_or_destination check ((lane is null) = (destination is not null));

alter table redrives
  add column target_id uuid,                                 -- null = the target of each event's source on the lane
  add column target text;                                    -- its name when the redrive was asked for

alter table redrive_attempts add column target_id uuid;      -- null = written before there was this column: by name
