-- The freeze hashes aggregates to slices in SQL. A redrive that is planned half must not put the rest of an aggregate into another
-- slice: its items move to the slices of the new hash. No worker has looked at them yet.
update redrive_items i
   set slice = ((hashtextextended(coalesce(i.source_id || ':' || i.aggregate_id, i.id::text), 0) & 9223372036854775807) % r.slices)::int
  from redrives r where r.id = i.redrive_id and r.state = 'PLANNING';
