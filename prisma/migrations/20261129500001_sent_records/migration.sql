-- The record of a log that a delivery became: a dead letter that has lost its marks and has no id names the record that failed.
alter table redrive_items add column sent_record text;

create index redrive_items_sent_record on redrive_items (sent_record) where sent_record is not null;
