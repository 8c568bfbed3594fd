-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- Codes of the second factor in a row that were wrong after a right password: bounded, and told at the sign-in that ends the row.
alter table accounts add column wrong_codes integer default 0 not null;
alter table sessions add column wrong_codes integer default 0 not null;
