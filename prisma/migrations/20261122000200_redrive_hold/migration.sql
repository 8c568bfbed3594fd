-- A redrive that is held sends nothing before hold_until, on the database's clock: time to take it back. Null = no hold.

alter table redrives add column hold_until timestamptz;
