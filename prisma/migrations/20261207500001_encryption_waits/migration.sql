-- When the youngest event that the first pass still has to look at is old enough for it; null = it waits for none.
alter table encryption_progress add column waits_until timestamptz;
