-- Only "the last seconds" are asked for by time, and attempts are stored in the order of their times: a summary of each range of
-- pages serves that. An entry of an ordinary index for each attempt, written again when the attempt ends, was a seventh of
-- what an attempt wrote.
drop index redrive_attempts_opened;
create index redrive_attempts_opened on redrive_attempts using brin (opened_at) with (pages_per_range = 16, autosummarize = on);
