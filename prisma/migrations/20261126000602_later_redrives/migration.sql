-- Redrives that begin later. Times of the database's clock.

alter table redrives
  add column start_at timestamptz,                   -- nothing is sent before
  add column breaker_until timestamptz;              -- it waits until the breakers of its targets close, at most until then
