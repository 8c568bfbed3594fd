-- A redrive writes two audit entries about each of its events. Its items name them, and the entries list the events: no row
-- and no index entry of audit_subjects for each.
alter table redrive_items add column queued_entry uuid;   -- the audit entry of its freeze
alter table redrive_items add column ended_entry uuid;    -- the audit entry of its end
alter table audit_entries add column event_ids uuid[];    -- the events of an entry that items name
