-- What is promised of a target, and what its callers expect: numbers that reports are checked against. null = nothing is promised.
alter table targets add column contract jsonb;
