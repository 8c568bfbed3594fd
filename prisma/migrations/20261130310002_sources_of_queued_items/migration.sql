-- The sources of the events that a redrive has queued, noted as it is planned: its page and its start would read all of its open items to
-- find them. null = it was planned before.
alter table redrives add column queued_sources uuid[];
