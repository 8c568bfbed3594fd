-- Addresses that lead from an event of the source to its log and its trace, with placeholders: [{label, kind, url}].
alter table sources add column links jsonb not null default '[]';
