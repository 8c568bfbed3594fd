-- What is promised of the dead letters of a source, and what its callers expect: numbers that reports are checked against. null = nothing is promised.
alter table sources add column contract jsonb;
