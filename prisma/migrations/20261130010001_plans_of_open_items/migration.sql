-- Each partial index of open items has a condition of its own, which only the statements that are meant for it repeat. A plan
-- that is made while no item is open takes any index of open items for empty: a look-up by aggregate then read all of
-- redrive_items_claim, for each aggregate, until the table was analyzed again.
drop index redrive_items_claim;
create index redrive_items_claim on redrive_items (redrive_id, slice, coalesce(version, 9223372036854775807), id)
  where state = 'open' and slice >= 0;
drop index redrive_items_one_open;
create unique index redrive_items_one_open on redrive_items (id) where state = 'open' and revision >= 0;

-- An item is written three times between its freeze and its end. A page with room keeps the claim and the intent out of the
-- indexes.
alter table redrive_items set (fillfactor = 50);
