-- A filter by the mark of admission reads the marked events alone: few events bear one.
create index dlq_events_admission on dlq_events (id) where admission is not null;
