-- One row that /readyz writes: whether the store takes a write is known only by writing.
create table readiness_probe (
  id int primary key check (id = 1),
  at timestamptz not null
);
