-- Channels that are told when a redrive or a bulk operation ends or stands still.
create table operation_tells (
  operation_id uuid not null,               -- of a redrive or of a bulk operation: both are UUIDv7, and never the same
  channel_id   uuid not null references alert_channels on delete cascade,
  asked_by     text not null,
  asked_at     timestamptz not null,
  still_since  timestamptz,                 -- it stands still since then; null = it moves
  still_told_at timestamptz,                -- of this standstill
  ended_told_at timestamptz,                -- nothing is told after it
  primary key (operation_id, channel_id)
);
create index operation_tells_open on operation_tells (operation_id) where ended_told_at is null;
