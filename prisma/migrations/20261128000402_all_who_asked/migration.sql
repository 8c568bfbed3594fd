-- A redrive that waits for an approval may be made more by one person after another: none of them approves it.

alter table approvals
  add column also_asked text[] not null default '{}';             -- those who asked before asked_by did
