-- All statements wait behind one that waits for these tables: it gives up soon, and is tried again.
set local lock_timeout = '500ms';

-- A clock that is set back must not silence alerts: what a channel has been told is compared by the number of the evaluation, not by its time.
alter table alerts add column told_from_evaluation bigint; -- the first evaluation in which it fired outside of a maintenance window
update alerts set told_from_evaluation = (select generation from alert_evaluation) where told_from is not null;
alter table alerts drop column told_from;

alter table alert_notices add column told_to_evaluation bigint; -- alerts of a later evaluation are new to the channel
update alert_notices set told_to_evaluation = (select generation from alert_evaluation);
alter table alert_notices alter column told_to_evaluation set not null;
alter table alert_notices drop column told_to;

-- seen_at: the worker of the evaluation under way renews it. stored_at: the end of the last evaluation that was stored.
alter table alert_evaluation add column seen_at timestamptz not null default now(), add column stored_at timestamptz not null default now();
