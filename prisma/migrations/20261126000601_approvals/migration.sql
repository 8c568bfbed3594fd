-- A second person approves a large redrive, and each redrive of a marked source or target, before it starts.

create table approvals (
  id            uuid primary key,
  subject_kind  text not null,                       -- redrive | operation
  subject_id    uuid not null,
  state         text not null,                       -- asked | given | rejected | expired | voided | withdrawn
  causes        jsonb not null,                      -- why it is needed: [{"kind": "size", "above": 1000}, ...]
  terms         jsonb not null,                      -- what is approved: the manifest's hash, target, lane, rate, ...
  digest        text not null,                       -- over the terms: the approval names it
  asked_by      text not null,
  asked_at      timestamptz not null default now(),
  expires_at    timestamptz not null,                -- asked: nobody has answered by then
  decided_by    text,
  decided_at    timestamptz,
  reason        text                                 -- of the decision, or of the end
);
create unique index approvals_one_in_force on approvals (subject_id) where state in ('asked', 'given');
create index approvals_asked on approvals (expires_at) where state = 'asked';
create index approvals_subject on approvals (subject_id, id);

-- The claim reads it in the row that it reads anyway: true exactly while an approval of the redrive is asked for.
alter table redrives add column awaits_approval boolean not null default false;

alter table sources add column needs_approval boolean not null default false;
alter table targets add column needs_approval boolean not null default false;
