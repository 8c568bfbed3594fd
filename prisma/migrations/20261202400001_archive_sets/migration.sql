-- A removal writes sets of objects: lines, a Parquet file of their columns, and a manifest, each under the key of the lines with
-- another ending. Null = an object of lines alone, of any days, which was written before there were sets.
alter table archive_objects add column day date;                      -- UTC day of its events
alter table archive_objects add column parquet_sha256 text;           -- 64 hex digits
alter table archive_objects add column manifest_sha256 text;          -- 64 hex digits
create index archive_objects_day on archive_objects (day, id);
