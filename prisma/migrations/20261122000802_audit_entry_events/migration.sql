-- Which events an entry covers, asked from the entry. Entries are appended in time order, so new rows go to the last page.
create index audit_subjects_entry on audit_subjects (entry_id, event_id);
