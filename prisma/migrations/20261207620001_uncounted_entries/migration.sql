-- null = not counted yet: the entry of an export that begins. Another entry at its end has the number.
alter table audit_entries alter column count drop not null;
