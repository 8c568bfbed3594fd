-- Slices that can do nothing before items of another redrive are closed: whoever closes those rings the slice, and the
-- reconciler rings it after `until`.
create table slice_waits (
  redrive_id uuid not null,
  slice      int not null,
  until      timestamptz not null,
  primary key (redrive_id, slice)
);
