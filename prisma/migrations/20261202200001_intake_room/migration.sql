-- The room that is left for events, written by each process that can measure it and read by each that takes events in. A row for each limit, so
-- that of processes with different limits the strictest one counts.
create table intake_room (
  measure      text not null check (measure in ('disk', 'store')),
  limit_bytes  bigint not null,
  left_bytes   bigint not null,                          -- until intake stops; below 0 it has
  stopped      boolean not null,
  since        timestamptz not null,                     -- when stopped last changed
  measured_at  timestamptz not null,
  primary key (measure, limit_bytes)
);
