-- The schema of 0.1.0, the first release. Later changes are migrations of their own.

-- Who may sign in, and programs that act for a source. `name_key` is the name without case, accents, width, spaces and
-- punctuation: two accounts never look like one person.
create table accounts (
  id uuid primary key,
  kind text not null,
  name text not null,
  name_key text not null unique,
  email text,
  password text, -- scrypt with its parameters; null = no sign-in by password.
  totp_secret bytea,
  totp_since timestamptz, -- null = the secret is not confirmed yet, and no code is asked for.
  totp_step bigint, -- The last step of 30 s whose code was used: a code works once.
  recovery_codes bytea[] default '{}'::bytea[] not null,
  role text not null,
  actions text[] default '{}'::text[] not null, -- Beside those of the role.
  sources text[], -- null = every source.
  oidc_issuer text,
  oidc_subject text,
  oidc_managed boolean default false not null, -- Role and sources come from the groups at each sign-in.
  created_at timestamptz default now() not null,
  created_by text not null,
  updated_at timestamptz default now() not null,
  disabled_at timestamptz,
  signed_in_at timestamptz,
  version integer default 1 not null,
  unique (oidc_issuer, oidc_subject),
  constraint accounts_check check ((oidc_issuer is null) = (oidc_subject is null)),
  constraint accounts_check1 check ((kind = 'person') or ((password is null) and (totp_secret is null) and (oidc_subject is null))),
  constraint accounts_kind_check check (kind in ('person', 'service')),
  constraint accounts_role_check check (role in ('viewer', 'operator', 'approver', 'admin'))
);

-- One-time links: the first administrator, an invitation, a new password.
create table account_links (
  hash bytea primary key,
  purpose text not null,
  account_id uuid references accounts(id) on delete cascade, -- null = the account is made when the link is used.
  created_by text not null,
  created_at timestamptz default now() not null,
  expires_at timestamptz not null,
  constraint account_links_check check ((purpose = 'setup') = (account_id is null)),
  constraint account_links_purpose_check check (purpose in ('setup', 'invitation', 'reset'))
);

-- Deltas, folded in place: no batch waits for another one at a row. rule_id null = the built-in version check.
create table admission_counts (
  hour timestamptz not null,
  rule_id uuid,
  source_id uuid not null,
  outcome text not null, -- matched | dropped | failed | superseded
  n bigint not null
);
create index admission_counts_hour on admission_counts (hour);

-- Keys of dropped messages, for an hour: a message that its broker delivers again is counted once.
create table admission_drops (
  event_id text not null,
  source_id uuid not null,
  at timestamptz default now() not null,
  primary key (event_id, source_id)
);
create index admission_drops_at on admission_drops (at);

-- Counts the changes of the rules. A batch that was judged by another revision is judged again before it is stored.
create table admission_revision (
  id integer primary key,
  revision bigint not null,
  constraint admission_revision_id_check check (id = 1)
);

-- Every version that was ever stored: an event names the version that changed it, also after the rule is deleted.
create table admission_rule_versions (
  rule_id uuid not null,
  version integer not null,
  name text not null,
  source text,
  body jsonb not null,
  reason text not null,
  created_by text not null,
  created_at timestamptz default now() not null,
  primary key (rule_id, version)
);

-- Admission at intake: rules that change, mark or drop dead letters before they are stored.
create table admission_rules (
  id uuid primary key,
  "position" integer not null, -- rules are applied in this order
  name text not null unique,
  source text, -- name of the only source it applies to; null = all
  enabled boolean default false not null,
  version integer not null, -- of name, source and body: counts their changes
  body jsonb not null, -- { when, do }
  created_by text not null,
  created_at timestamptz default now() not null,
  updated_by text not null,
  updated_at timestamptz default now() not null
);

-- A few of the dropped messages of each rule, and of those on which a rule failed. Never a payload, never a header.
create table admission_samples (
  id uuid primary key,
  rule_id uuid not null,
  source_id uuid not null,
  outcome text not null, -- dropped | failed
  event_id text not null,
  error_code text not null,
  error_type text,
  error_message text,
  fault text,
  at timestamptz not null
);
create index admission_samples_rule on admission_samples (rule_id, id);

-- One live holder per aggregate, across redrives; and its run of failures.
create table aggregates (
  source_id uuid not null,
  aggregate_id text not null,
  lease_redrive uuid,
  lease_slice integer,
  lease_until timestamptz,
  consecutive_failures integer default 0 not null,
  aggregate_type text default '' not null,
  blacklist_id uuid,
  blacklisted_at timestamptz,
  blacklist_reason text,
  blacklist_redrive uuid, -- the redrive whose failure reached the limit
  failed_at timestamptz,
  failed_redrives uuid[] default '{}'::uuid[] not null, -- the redrives that consecutive_failures counts
  primary key (aggregate_id, source_id, aggregate_type)
);
create unique index aggregates_blacklist on aggregates (blacklist_id) where (blacklist_id is not null);
-- Each send asks twice whether its aggregate is blacklisted: few are, and the table holds every aggregate ever claimed.
create index aggregates_blacklisted on aggregates (aggregate_id, source_id, aggregate_type) where (blacklist_id is not null);

create table alert_channels (
  id uuid primary key,
  name text not null unique,
  kind text not null,
  enabled boolean not null,
  severities text[] not null, -- only alerts of these
  sources text[], -- only alerts of these; null = of every source
  config jsonb not null, -- secrets by reference alone
  created_by text not null,
  created_at timestamptz not null,
  updated_by text not null,
  updated_at timestamptz not null
);

-- One evaluation at a time: a worker takes the next generation, and commits only while no other has taken a later one.
create table alert_evaluation (
  id integer primary key,
  generation bigint not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  took_ms double precision,
  constraint alert_evaluation_id_check check (id = 1)
);

create table alert_maintenances (
  id uuid primary key, -- UUIDv7
  sources text[], -- null = every source
  from_at timestamptz not null,
  until_at timestamptz not null,
  reason text not null,
  created_by text not null,
  created_at timestamptz not null,
  ended_at timestamptz, -- earlier than until_at, by a person
  ended_by text,
  constraint alert_maintenances_check check (until_at > from_at)
);
create index alert_maintenances_until on alert_maintenances (until_at);

-- What a channel has been told of the alerts of a rule. A row for as long as the channel knows of a firing one.
create table alert_notices (
  channel_id uuid not null references alert_channels(id) on delete cascade,
  rule_id uuid not null,
  opened_at timestamptz not null, -- part of the key by which a receiver recognises repeats
  told_to timestamptz not null, -- alerts with a later told_from are new to the channel
  told_at timestamptz not null, -- the last message that fired or repeated
  acknowledged boolean default false not null,
  primary key (channel_id, rule_id)
);

-- Messages to channels, published like those of the outbox and apart from them: a receiver of confirmations that hangs holds up no alert.
create table alert_outbox (
  seq bigint generated always as identity,
  id text primary key,
  aggregate_type text default '' not null,
  aggregate_id text not null,
  event_type text not null,
  destination text not null,
  message_key text,
  payload bytea not null,
  headers jsonb default '[]'::jsonb not null,
  status text default 'NEW' not null,
  attempts integer default 0 not null,
  available_at timestamptz default now() not null,
  claim uuid,
  claimed_until timestamptz,
  last_error text,
  created_at timestamptz default now() not null,
  sent_at timestamptz,
  constraint alert_outbox_status_check check (status in ('NEW', 'SENT', 'FAILED'))
) with (fillfactor='70');
create index alert_outbox_channel on alert_outbox (destination, seq);
create index alert_outbox_new on alert_outbox (seq) where (status = 'NEW');
create index alert_outbox_order on alert_outbox (aggregate_id, aggregate_type, seq) where (status <> 'SENT');
create index alert_outbox_sent on alert_outbox (sent_at) where (status = 'SENT');

-- Rules that a worker evaluates, the alerts that they raise, and the channels that are told of them.
create table alert_rules (
  id uuid primary key,
  name text not null unique,
  enabled boolean not null,
  version integer default 1 not null,
  severity text not null,
  body jsonb not null, -- what it watches, see lib/observe/alerts/alert-rule.shapes.ts
  fault text, -- why the last evaluation could not judge it; null = it could
  created_by text not null,
  created_at timestamptz not null,
  updated_by text not null,
  updated_at timestamptz not null,
  constraint alert_rules_severity_check check (severity in ('critical', 'warning', 'info'))
);

-- One row from the first evaluation in which a condition held to the end of the alert. A rule that is deleted leaves its alerts.
create table alerts (
  id uuid primary key, -- UUIDv7 of the first evaluation in which the condition held
  rule_id uuid not null,
  rule_name text not null,
  kind text not null,
  severity text not null,
  key text not null, -- what the rule tells apart: a source, a group of a source, a target
  source text, -- null = of every source
  subject jsonb not null,
  state text not null,
  since timestamptz not null, -- of the time for which the condition must hold, and holds
  fired_at timestamptz,
  told_from timestamptz, -- the first evaluation in which it fired outside of a maintenance window
  clear_since timestamptz, -- the condition holds no more since then
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledge_note text,
  resolved_at timestamptz,
  resolved_because text,
  value double precision,
  threshold double precision,
  usual double precision,
  sentence text not null,
  evidence jsonb default '{}'::jsonb not null, -- sample events and top groups when it fired
  constraint alerts_resolved_because_check check (resolved_because in ('cleared', 'rule-changed', 'rule-removed', 'rule-off')),
  constraint alerts_state_check check (state in ('pending', 'firing', 'resolved'))
);
-- The alerts of a group, for its page.
create index alerts_group on alerts (((subject ->> 'fingerprint')), id) where ((subject ->> 'fingerprint') is not null);
create unique index alerts_live on alerts (rule_id, key) where (state <> 'resolved');
create index alerts_resolved on alerts (resolved_at) where (state = 'resolved');
create index alerts_state on alerts (state, id);

create table api_tokens (
  id uuid primary key,
  hash bytea not null unique,
  hint text not null, -- The first letters, by which a person knows it again.
  account_id uuid not null references accounts(id) on delete cascade,
  name text not null,
  actions text[], -- Narrower than the account; null = as the account.
  sources text[],
  created_at timestamptz default now() not null,
  created_by text not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  used_address text,
  revoked_at timestamptz,
  revoked_by text
);
create index api_tokens_of_account on api_tokens (account_id, created_at desc);

-- A second person approves a large redrive, and each redrive of a marked source or target, before it starts.
create table approvals (
  id uuid primary key,
  subject_kind text not null, -- redrive | operation
  subject_id uuid not null,
  state text not null, -- asked | given | rejected | expired | voided | withdrawn
  causes jsonb not null, -- why it is needed: [{"kind": "size", "above": 1000}, ...]
  terms jsonb not null, -- what is approved: the manifest's hash, target, lane, rate, ...
  digest text not null, -- over the terms: the approval names it
  asked_by text not null,
  asked_at timestamptz default now() not null,
  expires_at timestamptz not null, -- asked: nobody has answered by then
  decided_by text,
  decided_at timestamptz,
  reason text, -- of the decision, or of the end
  also_asked text[] default '{}'::text[] not null -- those who asked before asked_by did
);
create index approvals_asked on approvals (expires_at) where (state = 'asked');
create unique index approvals_one_in_force on approvals (subject_id) where (state in ('asked', 'given'));
create index approvals_subject on approvals (subject_id, id);

-- Objects that are to be removed from the archive: no row names them any more, or none has come to name them by then.
create table archive_leftovers (
  key text primary key,
  remove_at timestamptz not null,
  replaced boolean default false not null
);

create table archive_objects (
  id uuid primary key, -- UUIDv7
  operation_id uuid not null, -- the bulk operation that removed its events
  source text not null, -- name of the source of all of its events, as it was then
  key text not null unique, -- in the archive
  events integer not null,
  bytes bigint not null, -- of the object
  sha256 text not null, -- of the object, 64 hex digits
  removed_by text not null,
  removed_at timestamptz not null,
  day date, -- UTC day of its events
  parquet_sha256 text, -- 64 hex digits
  manifest_sha256 text, -- 64 hex digits
  keys_removed_at timestamptz
);
create index archive_objects_day on archive_objects (day, id);
create index archive_objects_known on archive_objects (source, removed_at, id) where (keys_removed_at is null);
create index archive_objects_operation on archive_objects (operation_id, id);

-- Finds an archived event again. A row goes when its event comes back.
create table archived_events (
  id uuid primary key, -- of the event
  object_id uuid not null,
  source_id uuid not null,
  source text not null, -- its name then
  event_id text not null,
  aggregate_id text,
  aggregate_type text default '' not null,
  version bigint,
  event_type text,
  error_code text not null,
  status text not null,
  payload_bytes integer not null
);
create index archived_events_aggregate on archived_events (aggregate_id, id) where (aggregate_id is not null);
create index archived_events_code on archived_events (error_code, id);
create index archived_events_event on archived_events (event_id, source_id);
create index archived_events_object on archived_events (object_id);
create index archived_events_source on archived_events (source, id);

-- Ends of the chains that were written outside.
create table audit_anchors (
  id uuid primary key, -- UUIDv7
  place text not null, -- where to; no secret in it
  scope text not null,
  seq bigint not null,
  chain_hash bytea not null,
  at timestamptz not null
);
create index audit_anchors_place on audit_anchors (place, id);

create table audit_entries (
  id uuid primary key, -- UUIDv7: also the time index
  at timestamptz not null,
  actor text not null,
  action text not null,
  subject_kind text not null, -- event redrive control source target policy view setting
  subject_id text, -- null when the entry covers several events (audit_subjects)
  redrive_id uuid,
  reason text,
  before jsonb,
  after jsonb,
  count integer default 1,
  event_ids uuid[] -- the events of an entry that items name
);
create index audit_entries_action on audit_entries (action, id);
create index audit_entries_actor on audit_entries (actor, id);
create index audit_entries_redrive on audit_entries (redrive_id, id) where (redrive_id is not null);
create index audit_entries_subject on audit_entries (subject_kind, subject_id, id);

-- What of the audit is not sealed yet. A row is written in the transaction of its entry, so the transaction that commits last is sealed last,
-- and none is missed. Sealing takes the row away.
create table audit_pending (
  entry_id uuid not null,
  ref uuid not null, -- of `entry` the entry, of `subjects` their part, of `redaction` the forget
  kind text default 'entry' not null,
  since timestamptz default now(), -- null = the entry was written before the audit had seals
  primary key (entry_id, ref),
  constraint audit_pending_kind_check check (kind in ('entry', 'subjects', 'redaction'))
) with (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000');

-- One chain for each scope. chain_hash covers the row and the chain_hash before it.
create table audit_seals (
  scope text not null,
  seq bigint not null, -- 1, 2, 3 ... without a gap
  kind text not null,
  entry_id uuid not null,
  ref uuid not null, -- as in audit_pending
  content_hash bytea not null, -- SHA-256 of the columns that nothing may change, or of the events of the part
  text_hash bytea, -- SHA-256 of the columns in which a forget may replace names; null = of a part
  chain_hash bytea not null,
  sealed_at timestamptz not null,
  primary key (scope, seq),
  constraint audit_seals_kind_check check (kind in ('entry', 'subjects', 'redaction')),
  constraint audit_seals_scope_check check (scope in ('access', 'configuration', 'messages'))
);
create index audit_seals_entry on audit_seals (entry_id);

-- Which events one entry covers: one row for each state change of an event.
create table audit_subjects (
  event_id uuid not null,
  entry_id uuid not null,
  part uuid,
  primary key (event_id, entry_id)
);
-- Which events an entry covers, asked from the entry. Entries are appended in time order, so new rows go to the last page.
create index audit_subjects_entry on audit_subjects (entry_id, event_id);

-- How far each chain of the audit was sent to the syslog server.
create table audit_syslog_positions (
  scope text primary key,
  seq bigint not null, -- of the last seal that was sent
  chain_hash bytea not null, -- of that seal: another hash there is another chain, which is sent anew
  sent_at timestamptz not null,
  constraint audit_syslog_positions_scope_check check (scope in ('access', 'configuration', 'messages'))
);

-- A check of the chains: asked for by a viewer, or regular.
create table audit_verifications (
  id uuid primary key, -- UUIDv7
  extent text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  worked_at timestamptz, -- of the last batch: a check whose worker died begins anew
  seals bigint default 0 not null, -- looked at so far
  good boolean, -- null = it runs, or could not be done
  result jsonb,
  anchors jsonb, -- given with the request
  fault text,
  constraint audit_verifications_extent_check check (extent in ('whole', 'recent'))
);
create index audit_verifications_open on audit_verifications (id) where (finished_at is null);

-- Ignore, release and confirm of a set that is too large for one request: a worker changes it in chunks up to the cutoff.
create table bulk_operations (
  id uuid primary key, -- UUIDv7
  kind text not null,
  state text not null,
  selection jsonb not null, -- { ids }, { filter } or { operation }, as asked, and asOfMs
  options jsonb default '{}'::jsonb not null, -- release: { keepLimits }; confirm: { consumer }
  cutoff uuid not null, -- later arrivals are not included
  cursor uuid, -- the last event of the last chunk; null = no chunk yet
  expected bigint not null, -- how many events were selected
  expected_kind text not null,
  changed bigint default 0 not null,
  refused bigint default 0 not null,
  refused_by_reason jsonb default '{}'::jsonb not null,
  audit_id uuid not null unique, -- its one audit entry; the subjects come with each chunk
  created_by text not null,
  reason text not null,
  cancelled_by text,
  created_at timestamptz default now() not null,
  started_at timestamptz, -- the first chunk began
  worked_at timestamptz, -- the last chunk was committed
  finished_at timestamptz,
  awaits_approval boolean default false not null,
  fault text,
  constraint bulk_operations_expected_kind_check check (expected_kind in ('exact', 'estimated')),
  constraint bulk_operations_kind_check check (kind in ('ignore', 'release', 'confirm', 'mend', 'undo-mend', 'remove', 'expire')),
  constraint bulk_operations_state_check check (state in ('RUNNING', 'DONE', 'CANCELLED'))
);
create index bulk_operations_live on bulk_operations (id) where (state = 'RUNNING');
-- The undos of a mend are looked up by the mend: for each mend of a list, and before an undo.
create index bulk_operations_undo on bulk_operations (((selection ->> 'operation'))) where (kind = 'undo-mend');

create table controls (
  id uuid primary key,
  kind text not null,
  scope text not null,
  value text not null,
  reason text not null,
  origin text default 'person' not null,
  created_by text not null,
  created_at timestamptz default now() not null,
  expires_at timestamptz,
  lifted_at timestamptz,
  lifted_by text,
  lift_reason text,
  source text, -- a source's name
  aggregate_type text,
  lift_id uuid,
  redrive_id uuid,
  constraint controls_kind_check check (kind in ('blacklist', 'whitelist', 'cooldown')),
  constraint controls_origin_check check (origin in ('person', 'automatic')),
  constraint controls_scope_check check (scope in ('eventId', 'aggregateId', 'errorCode', 'source'))
);
create index controls_lift on controls (lift_id) where (lift_id is not null);
create index controls_live on controls (scope, value) where (lifted_at is null);

-- Bodies may be encrypted. A data key encrypts many of them, and is stored here as its master key has wrapped it; the master keys
-- are in the configuration alone.
create table data_keys (
  id uuid primary key,
  master_key text not null, -- The id of the master key.
  wrapped bytea not null,
  made_at timestamptz default now() not null
);

-- Programs that ask to act for a person, such as `parkade login`. A row lives for ten minutes. The program has the secret, and the
-- code stands on its screen: here are their SHA-256. The token is made when the program takes it, so that no secret waits here.
create table device_sign_ins (
  secret_hash bytea primary key,
  code_hash bytea not null unique,
  name text not null, -- As the program says it.
  address text,
  created_at timestamptz default now() not null,
  expires_at timestamptz not null,
  decision text,
  account_id uuid references accounts(id) on delete cascade,
  days integer, -- Of the token, once a person has confirmed.
  actions text[],
  sources text[],
  constraint device_sign_ins_check check ((decision is null) = (account_id is null)),
  constraint device_sign_ins_check1 check ((decision = 'confirmed') = (days is not null)),
  constraint device_sign_ins_decision_check check (decision in ('confirmed', 'denied'))
);
create index device_sign_ins_of_account on device_sign_ins (account_id) where (account_id is not null);

create table dlq_event_bodies (
  id uuid primary key,
  payload bytea not null,
  content_type text not null,
  headers jsonb default '[]'::jsonb not null, -- ordered list, duplicates kept
  error_type text,
  error_message text,
  error_detail text, -- stack
  origin jsonb default '{}'::jsonb not null,
  admission jsonb, -- what the rules did to it; null = nothing
  data_key uuid,
  sealed bytea
) partition by range (id);

-- Range-partitioned by the UUIDv7 key, a partition a day, and no default partition: with one the planner must merge
-- all partitions instead of stopping at the newest.
create table dlq_event_facts (
  id uuid primary key,
  aggregate_id text,
  event_type text,
  trace_id text,
  failed_at timestamptz,
  last_error_code text,
  last_error text, -- summary, at most 2 KB
  payload_bytes integer not null,
  tags jsonb default '{}'::jsonb not null
) partition by range (id);
create index dlq_event_facts_aggregate on dlq_event_facts (aggregate_id, id) where (aggregate_id is not null);
create index dlq_event_facts_event_type on dlq_event_facts (event_type, id) where (event_type is not null);
create index dlq_event_facts_tags on dlq_event_facts using gin (tags jsonb_path_ops);
create index dlq_event_facts_trace on dlq_event_facts (trace_id, id) where (trace_id is not null);

-- Range-partitioned by the UUIDv7 key, a partition a day, and no default partition: with one the planner must merge
-- all partitions instead of stopping at the newest.
create table dlq_events (
  id uuid primary key,
  source_id uuid not null,
  event_id text not null,
  aggregate_type text,
  aggregate_id text,
  version bigint,
  error_code text not null,
  fingerprint text not null, -- tells the error code: it is a part of what is hashed
  first_seen timestamptz not null,
  status text default 'PENDING' not null, -- PENDING | QUEUED | REDRIVEN | IGNORED
  attempts integer default 0 not null, -- the consumer's deliveries plus ours
  bounces integer default 0 not null,
  redrives integer default 0 not null, -- deliver redrives that sent it: counts against the redrive limit
  failures integer default 0 not null, -- consecutive failed redrives: doubles the cooldown
  last_attempt_at timestamptz,
  redrive_at timestamptz, -- when it was last delivered
  confirmed_at timestamptz,
  cooldown_until timestamptz,
  last_operator text,
  bounced_redrives uuid[], -- redrives that came back: the same bounce counts once
  confirmed_redrive uuid, -- the redrive whose `confirmed` counts this event
  admission text, -- early | superseded | confirm; null = sent like any other
  revision integer default 1 not null
) partition by range (id);
-- A filter by the mark of admission reads the marked events alone: few events bear one.
create index dlq_events_admission on dlq_events (id) where (admission is not null);
create index dlq_events_bounced on dlq_events (id) where (bounces > 0);
create index dlq_events_confirmed on dlq_events (id) where ((confirmed_at is not null) and (bounces >= 0));
create index dlq_events_cooling on dlq_events (id) where (cooldown_until is not null);
-- A filter by source, error code, group or status is a set of (fingerprint, source, status), and dlq_group_levels tells
-- which of them have events: one ordered range each.
create index dlq_events_group on dlq_events (fingerprint, source_id, status, id);
-- "Has the group succeeded since?": the newest confirmation of a group, one look-up in each day's partition.
create index dlq_events_group_confirmed on dlq_events (fingerprint, source_id, confirmed_at) where ((confirmed_at is not null) and (bounces >= 0));
-- The head of an aggregate is the first row of a range, and so is the newest version that its consumer has processed.
create index dlq_events_order on dlq_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version, id) where ((status in ('PENDING', 'IGNORED')) and (aggregate_id is not null));
create index dlq_events_processed on dlq_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version) where ((status = 'REDRIVEN') and (confirmed_at is not null) and (aggregate_id is not null) and (version is not null));
create index dlq_events_unconfirmed on dlq_events (redrive_at) where ((status = 'REDRIVEN') and (confirmed_at is null));

create table dlq_flow (
  minute timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  fingerprint text not null,
  kind text not null, -- parked redriven confirmed failed bounced ignored released expired
  n bigint not null
);

create table dlq_flow_days (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (at, source_id, error_code)
);

create table dlq_flow_fives (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (at, source_id, error_code)
);

create table dlq_flow_hours (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (at, source_id, error_code)
);

create table dlq_flow_minutes (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (at, source_id, error_code)
);

create table dlq_flow_quarters (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (at, source_id, error_code)
);

create table dlq_group_flow_days (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  fingerprint text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (fingerprint, at, source_id, error_code)
);
create index dlq_group_flow_days_at on dlq_group_flow_days (at);

-- Arrivals (parked, bounced) only.
create table dlq_group_flow_hours (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  fingerprint text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (fingerprint, at, source_id, error_code)
);
create index dlq_group_flow_hours_at on dlq_group_flow_hours (at);
-- What is older than a week is kept by the hour and wider. What was not stored in storms is looked up there, too.
create index dlq_group_flow_hours_unstored on dlq_group_flow_hours (fingerprint, at) where (unstored > 0);

create table dlq_group_flow_minutes (
  at timestamptz not null,
  source_id uuid not null,
  error_code text not null,
  fingerprint text not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (fingerprint, at, source_id, error_code)
);
create index dlq_group_flow_minutes_at on dlq_group_flow_minutes (at);
-- The start of the storms of a group, among its many quiet minutes.
create index dlq_group_flow_minutes_unstored on dlq_group_flow_minutes (fingerprint, at) where (unstored > 0);

create table dlq_group_levels (
  fingerprint text not null,
  source_id uuid not null,
  status text not null,
  n bigint not null
);
create index dlq_group_levels_group on dlq_group_levels (fingerprint);

create table dlq_groups (
  fingerprint text primary key,
  error_code text not null,
  exception_type text,
  message_pattern text not null,
  first_frame text,
  sample_event uuid not null,
  first_seen timestamptz not null,
  last_seen timestamptz not null
);

create table dlq_level_hours (
  hour timestamptz not null, -- first_seen, truncated
  source_id uuid not null,
  error_code text not null,
  status text not null,
  n bigint not null,
  primary key (hour, source_id, error_code, status)
);

-- Rollups: appended as deltas by the statement that changes an event, folded by the janitor ------------------------
create table dlq_levels (
  source_id uuid not null,
  error_code text not null,
  status text not null,
  hour timestamptz not null, -- first_seen, truncated
  n bigint not null
);

create table dlq_level_totals (
  source_id uuid not null,
  error_code text not null,
  status text not null,
  n bigint not null,
  primary key (source_id, error_code, status)
);

create table dlq_source_flow_days (
  at timestamptz not null,
  source_id uuid not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (at, source_id)
);

create table dlq_source_flow_hours (
  at timestamptz not null,
  source_id uuid not null,
  parked bigint default 0 not null,
  bounced bigint default 0 not null,
  released bigint default 0 not null,
  corrected bigint default 0 not null,
  redriven bigint default 0 not null,
  ignored bigint default 0 not null,
  confirmed bigint default 0 not null,
  unconfirmed bigint default 0 not null,
  failed bigint default 0 not null,
  expired bigint default 0 not null,
  unstored bigint default 0 not null,
  duplicate bigint default 0 not null,
  dropped bigint default 0 not null,
  rejected bigint default 0 not null,
  primary key (at, source_id)
);

create table dlq_source_level_hours (
  hour timestamptz not null, -- first_seen, truncated
  source_id uuid not null,
  status text not null,
  n bigint not null,
  primary key (hour, source_id, status)
);

-- How far the worker is with events that are not stored as configured. One row; none = keys were never configured.
create table encryption_progress (
  id integer primary key,
  encrypts boolean not null, -- Bodies are to be encrypted; false = they are to be stored as they are.
  cursor uuid, -- The newest event that was looked at; null = none.
  changed bigint default 0 not null,
  unreadable bigint default 0 not null,
  ended_at timestamptz, -- When the first pass ended; null = it has not. Some time later a second one looks for what processes with the earlier configuration had stored meanwhile.
  passes integer default 0 not null,
  counts jsonb, -- Bodies by the id of their master key, '' = as they are, '?' = their data key is missing; null = not counted yet.
  counting jsonb, -- The count under way: which table, behind which event, and what it has found; null = none is.
  counted_at timestamptz,
  waits_until timestamptz,
  constraint encryption_progress_id_check check (id = 1)
);

create table event_bounces (
  id uuid not null, -- the event
  bounce integer not null, -- dlq_events.bounces with this one
  at timestamptz not null,
  redrive_id uuid, -- null = no longer stored
  sent integer not null, -- the revision that came back
  error_type text,
  error_message text,
  error_detail text,
  headers jsonb default '[]'::jsonb not null,
  origin jsonb default '{}'::jsonb not null,
  admission jsonb,
  data_key uuid,
  sealed bytea,
  primary key (id, bounce)
) partition by range (id);

-- A partitioned table cannot hold a global unique key: this one deduplicates.
create table event_keys (
  source_id uuid not null,
  event_id text not null,
  id uuid not null,
  primary key (event_id, source_id)
);

-- The row of dlq_event_bodies is revision 1: what arrived first. From here on it is never updated. Each further state of
-- an event's bytes is a row of event_revisions; what each bounce brought beside bytes is a row of event_bounces.
-- Both are partitioned like the bodies, so that a day is dropped with all that belongs to it.
create table event_revisions (
  id uuid not null, -- the event
  revision integer not null,
  cause text not null, -- bounce | edit | mend
  base integer not null, -- the revision that it was made from; of a bounce: that was sent
  bounce integer, -- of a bounce: its row of event_bounces
  actor text not null,
  reason text,
  at timestamptz not null,
  patch jsonb, -- what was asked for: an edit's patch, a mend's recipe
  operation_id uuid, -- the bulk operation of a mend
  payload bytea not null,
  content_type text not null,
  headers jsonb default '[]'::jsonb not null,
  data_key uuid,
  sealed bytea,
  primary key (id, revision),
  constraint event_revisions_revision_check check (revision > 1)
) partition by range (id);
create index event_revisions_operation on event_revisions (operation_id, id) where (operation_id is not null);

-- The data of a person is forgotten by a key that names it. The row has no key any more once it has ended.
create table forgets (
  id uuid primary key, -- UUIDv7
  key_kind text not null,
  key jsonb, -- what is forgotten, and where; null = it has ended
  names text[] default '{}'::text[] not null, -- ids of forgotten events and of aggregates without events; emptied at the end
  patterns jsonb, -- of what is replaced in the audit; null = not yet, or ended
  phase text default 'events' not null,
  cursor uuid, -- of the phase; null = it begins
  moved boolean default false not null, -- events moved between store and archive: both are looked at again
  counts jsonb default '{}'::jsonb not null,
  refused jsonb default '{}'::jsonb not null, -- events of the last round that stay, by reason
  reason text not null,
  audit_id uuid not null,
  created_by text not null,
  created_at timestamptz not null,
  worked_at timestamptz,
  finished_at timestamptz, -- null = it runs
  fault text, -- why the next step could not be done; null = it could
  constraint forgets_check check ((finished_at is null) = (key is not null)),
  constraint forgets_key_kind_check check (key_kind in ('tag', 'aggregateId', 'pointer')),
  constraint forgets_phase_check check (phase in ('events', 'archive', 'traces', 'audit'))
);
create index forgets_running on forgets (id) where (finished_at is null);

-- That an event was forgotten: counts stay true, and whoever has its address is told. The id is Parkade's own, which says nothing of a person.
create table forgotten_events (
  id uuid primary key,
  source_id uuid not null,
  forget_id uuid not null,
  times integer default 1 not null -- it came back from an export, and was forgotten again
);
create index forgotten_events_forget on forgotten_events (forget_id);

-- A group of which nobody is told until a time, or until so many more of it have arrived.
create table group_mutes (
  id uuid primary key, -- UUIDv7
  fingerprint text not null,
  source text, -- null = every source
  until_at timestamptz,
  until_more bigint,
  arrived_start bigint not null, -- arrivals of the group, ever, when it began: until_more counts from here
  reason text not null,
  created_by text not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  ended_by text, -- null = by itself
  ended_because text,
  constraint group_mutes_check check ((until_at is not null) or (until_more is not null)),
  constraint group_mutes_check1 check ((ended_at is null) = (ended_because is null)),
  constraint group_mutes_ended_because_check check (ended_because in ('lifted', 'replaced', 'time', 'count')),
  constraint group_mutes_until_more_check check (until_more > 0)
);
create index group_mutes_group on group_mutes (fingerprint, id);
create unique index group_mutes_live on group_mutes (fingerprint, coalesce(source, '')) where (ended_at is null);

create table idempotency_keys (
  actor text not null,
  key text not null,
  fingerprint text,
  response json,
  created_at timestamptz default now() not null,
  expires_at timestamptz not null,
  holder uuid,
  lease_until timestamptz,
  primary key (actor, key)
);

-- The room that is left for events, written by each process that can measure it and read by each that takes events in. A row for each limit, so
-- that of processes with different limits the strictest one counts.
create table intake_room (
  measure text not null,
  limit_bytes bigint not null,
  left_bytes bigint not null, -- until intake stops; below 0 it has
  stopped boolean not null,
  since timestamptz not null, -- when stopped last changed
  measured_at timestamptz not null,
  primary key (measure, limit_bytes),
  constraint intake_room_measure_check check (measure in ('disk', 'store'))
);

-- Browsers that have signed in to an account before: strangers who try its password do not make them wait. A row gives no rights. The
-- secret is in the cookie alone; here is its SHA-256. A browser of two accounts has one secret, and a row for each.
create table known_browsers (
  id uuid primary key,
  secret_hash bytea not null,
  account_id uuid not null references accounts(id) on delete cascade,
  created_at timestamptz default now() not null,
  used_at timestamptz default now() not null, -- The last sign-in.
  expires_at timestamptz not null,
  unique (secret_hash, account_id)
);
create index known_browsers_of_account on known_browsers (account_id, used_at desc);

-- What a legal hold in force covers is not removed, not expired and not forgotten, in the store and in the archive. A row is never deleted:
-- a hold ends when it is lifted.
create table legal_holds (
  id uuid primary key, -- UUIDv7
  scope text not null,
  value text not null,
  tag text, -- the name of the tag
  aggregate_type text, -- null = of any type
  source text, -- name of the only source; null = of all; of the scope `source` the value
  from_at timestamptz, -- first seen at or after
  to_at timestamptz, -- first seen before
  reason text not null,
  created_by text not null,
  created_at timestamptz not null,
  lifted_by text,
  lifted_at timestamptz,
  lift_reason text,
  constraint legal_holds_check check ((scope = 'tag') = (tag is not null)),
  constraint legal_holds_scope_check check (scope in ('eventId', 'aggregateId', 'tag', 'errorCode', 'source'))
);
create index legal_holds_in_force on legal_holds (scope, value) where (lifted_at is null);

-- What happened outside of Parkade, for the charts: a deployment, an incident, a note.
create table markers (
  id uuid primary key, -- UUIDv7
  kind text not null,
  label text not null,
  source text, -- null = it concerns every source
  url text,
  at timestamptz not null,
  created_by text not null,
  created_at timestamptz not null,
  constraint markers_kind_check check (kind in ('deploy', 'incident', 'note'))
);
create index markers_at on markers (at);

-- What is masked beside the built-in detectors, and which of these are off. See docs/hardening.md#masking.
create table mask_rules (
  id uuid primary key, -- UUIDv7
  source text, -- null = every source
  kind text not null,
  pattern text not null,
  enabled boolean not null,
  created_by text not null,
  created_at timestamptz not null,
  updated_by text not null,
  updated_at timestamptz not null,
  constraint mask_rules_kind_check check (kind in ('pointer', 'key', 'detector'))
);
create unique index mask_rules_once on mask_rules (kind, pattern, coalesce(source, ''));

-- What a running mend works on, frozen when it was requested; removed when it ends. What it made of an event is its row in
-- event_revisions.
create table mend_items (
  operation_id uuid not null,
  event_id uuid not null,
  base integer not null, -- the current revision then
  primary key (operation_id, event_id)
);

-- A sign-in at the OpenID provider under way. Each is taken once.
create table oidc_flows (
  state_hash bytea primary key,
  browser_hash bytea not null,
  nonce text not null,
  verifier text not null,
  return_to text not null,
  expires_at timestamptz not null
);

-- Logout tokens of the OpenID provider that were taken: each counts once. By the SHA-256 of `jti`.
create table oidc_logouts (
  jti_hash bytea primary key,
  expires_at timestamptz not null -- The token is refused for its age from then on.
);

-- Channels that are told when a redrive or a bulk operation ends or stands still.
create table operation_tells (
  operation_id uuid not null, -- of a redrive or of a bulk operation: both are UUIDv7, and never the same
  channel_id uuid not null references alert_channels(id) on delete cascade,
  asked_by text not null,
  asked_at timestamptz not null,
  still_since timestamptz, -- it stands still since then; null = it moves
  still_told_at timestamptz, -- of this standstill
  ended_told_at timestamptz, -- nothing is told after it
  primary key (operation_id, channel_id)
);
create index operation_tells_open on operation_tells (operation_id) where (ended_told_at is null);

create table outbox (
  id text primary key,
  aggregate_type text default '' not null,
  aggregate_id text not null,
  event_type text not null,
  payload bytea not null,
  headers jsonb default '[]'::jsonb not null,
  status text default 'NEW' not null,
  attempts integer default 0 not null,
  available_at timestamptz default now() not null,
  last_error text,
  created_at timestamptz default now() not null,
  sent_at timestamptz,
  seq bigint generated always as identity,
  destination text not null,
  message_key text,
  claim uuid,
  claimed_until timestamptz,
  constraint outbox_status_check check (status in ('NEW', 'SENT', 'FAILED'))
) with (fillfactor='70');
create index outbox_new on outbox (seq) where (status = 'NEW');
create index outbox_order on outbox (aggregate_id, aggregate_type, seq) where (status <> 'SENT');
create index outbox_sent on outbox (sent_at) where (status = 'SENT');

create table policies (
  id uuid primary key,
  name text not null,
  version integer not null,
  body jsonb not null,
  reason text,
  created_by text not null,
  created_at timestamptz default now() not null,
  unique (name, version)
);

create table processed_events (
  consumer text not null,
  source_id uuid not null,
  event_id text not null,
  aggregate_id text,
  version bigint,
  processed_at timestamptz default now() not null,
  aggregate_type text default '' not null,
  primary key (event_id, source_id, consumer)
);
create index processed_events_aggregate on processed_events (source_id, aggregate_id, aggregate_type, version) where (aggregate_id is not null);

create table rate_buckets (
  key text primary key,
  tokens double precision not null,
  updated_at timestamptz not null
);

-- One row that /readyz writes: whether the store takes a write is known only by writing.
create table readiness_probe (
  id integer primary key,
  at timestamptz not null,
  constraint readiness_probe_id_check check (id = 1)
);

-- Recipes with a name. A name that is saved again is a further version; a version is never changed.
create table recipes (
  id uuid primary key, -- UUIDv7
  name text not null,
  version integer not null,
  recipe jsonb not null,
  source text, -- only who sees it sees the recipe; null = everybody
  created_by text not null,
  created_at timestamptz default now() not null,
  unique (name, version)
);

create table redrive_attempts (
  id uuid not null, -- the event's id
  redrive_id uuid not null,
  attempt integer not null,
  fence bigint not null,
  state text default 'open' not null, -- open delivered failed ambiguous
  target text not null,
  idempotency_key text not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  latency_ms double precision,
  code text,
  detail text,
  decision jsonb,
  target_id uuid, -- null = written before there was this column: by name
  revision integer default 1 not null, -- what was sent
  primary key (id, redrive_id, attempt)
);
-- Sends under way: whoever stops something asks how many there are. A few hundred rows, whatever was sent before.
create index redrive_attempts_open on redrive_attempts (redrive_id, id) where (state = 'open');
create index redrive_attempts_opened on redrive_attempts using brin (opened_at) with (pages_per_range='16', autosummarize='on');

-- Narrow: claims run on it. `id` is the event's id, so it shards with the event.
create table redrive_items (
  id uuid not null,
  redrive_id uuid not null,
  slice integer not null,
  source_id uuid not null,
  aggregate_id text,
  version bigint,
  error_code text not null,
  state text not null, -- open delivered passed failed refused cancelled
  fence bigint default 0 not null,
  claimed_until timestamptz,
  not_before timestamptz, -- deferred by a Retry-After that did not fit the deadline
  attempts integer default 0 not null,
  result text, -- reason or outcome code
  detail text,
  verdict jsonb, -- findings of the dry run
  finished_at timestamptz,
  claimed_by uuid,
  aggregate_type text default '' not null,
  revision integer default 1 not null,
  sent_record text,
  queued_entry uuid, -- the audit entry of its freeze
  ended_entry uuid, -- the audit entry of its end
  primary key (id, redrive_id)
) with (fillfactor='50');
-- Both keep an aggregate's order: version, events without one last, then the time they were parked.
create index redrive_items_claim on redrive_items (redrive_id, slice, coalesce(version, '9223372036854775807'::bigint), id) where ((state = 'open') and (slice >= 0));
create unique index redrive_items_one_open on redrive_items (id) where ((state = 'open') and (revision >= 0));
create index redrive_items_order on redrive_items (aggregate_id, source_id, aggregate_type, coalesce(version, '9223372036854775807'::bigint), id) where ((state = 'open') and (aggregate_id is not null));
create index redrive_items_outcome on redrive_items (redrive_id, state, id);
create index redrive_items_sent_record on redrive_items (sent_record) where (sent_record is not null);

-- Counts the changes of the rules. A run that was found under another revision is not made.
create table redrive_rule_revision (
  id integer primary key,
  revision bigint not null,
  constraint redrive_rule_revision_id_check check (id = 1)
);

-- The redrives that rules asked for.
create table redrive_rule_runs (
  redrive_id uuid primary key,
  rule_id uuid not null,
  version integer not null,
  events integer not null,
  at timestamptz default now() not null,
  authors text[] default '{}'::text[] not null -- those who had written the rule, and switched it on, at the run
);
create index redrive_rule_runs_rule on redrive_rule_runs (rule_id, at);

-- What a rule would have done. A rule is switched on with a trial of the same digest.
create table redrive_rule_trials (
  id uuid primary key,
  digest text not null, -- of the body that was tried
  result jsonb not null,
  created_by text not null,
  created_at timestamptz default now() not null
);
create index redrive_rule_trials_digest on redrive_rule_trials (digest, created_at);

-- Redrive rules: a worker redrives parked events that a rule describes.
create table redrive_rules (
  id uuid primary key,
  "position" integer not null, -- the first enabled rule whose filter matches takes the event
  name text not null unique,
  enabled boolean default false not null,
  version integer not null, -- of name and body: counts their changes
  body jsonb not null, -- { filter, delayMs, lane, limits, ... }
  run bigint default 0 not null, -- counts its runs: two workers cannot make the same one
  looked_to uuid, -- the last event that was looked at; null = begin at the newest
  fault text, -- why the last round could not apply it; null = it could
  enabled_by text,
  enabled_at timestamptz,
  stopped_at timestamptz, -- it switched itself off then
  stop_reason text,
  created_by text not null,
  created_at timestamptz default now() not null,
  updated_by text not null,
  updated_at timestamptz default now() not null,
  authors text[] default '{}'::text[] not null -- each person who made a version of it
);

create table redrive_ticks (
  redrive_id uuid not null,
  at timestamptz not null, -- truncated to 5 s
  delivered integer default 0 not null,
  failed integer default 0 not null,
  refused integer default 0 not null
);
create index redrive_ticks_redrive on redrive_ticks (redrive_id, at);

create table redrives (
  id uuid primary key,
  state text not null, -- PLANNING PLANNED RUNNING PAUSED DONE CANCELLED
  mode text not null,
  lane text not null,
  rate_per_second double precision, -- null = the target's rate
  selection jsonb not null, -- { ids } or { filter }, as asked
  cutoff uuid not null, -- later arrivals are not included
  plan_cursor uuid,
  slices integer not null,
  canary jsonb, -- { steps, stopAtFailureRatio, window }
  released bigint, -- canary: items that may have been started; null = all
  recent text default '' not null, -- last outcomes, newest last: d delivered, f failed, b bounced
  pause_reason text,
  policies jsonb default '{}'::jsonb not null, -- target id -> policy body it started with
  total bigint default 0 not null,
  delivered bigint default 0 not null,
  passed bigint default 0 not null, -- verify runs only
  confirmed bigint default 0 not null,
  failed bigint default 0 not null,
  refused bigint default 0 not null,
  cancelled bigint default 0 not null,
  bounced bigint default 0 not null,
  refused_by_reason jsonb default '{}'::jsonb not null,
  failed_by_reason jsonb default '{}'::jsonb not null,
  created_by text not null,
  reason text not null,
  created_at timestamptz default now() not null,
  planned_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  hold_until timestamptz,
  cancelled_by text,
  earlier text default 'hold' not null,
  brake jsonb,
  sampled_from timestamptz,
  waiting_until timestamptz,
  sources text[],
  despite text[] default '{}'::text[] not null,
  target_id uuid, -- null = the target of each event's source on the lane
  target text, -- its name when the redrive was asked for
  concurrency integer, -- sends at once for each worker; null = the target's places
  deduplicated bigint default 0 not null,
  latencies integer[] default '{}'::integer[] not null,
  brake_seen jsonb,
  awaits_approval boolean default false not null,
  start_at timestamptz, -- nothing is sent before
  breaker_until timestamptz, -- it waits until the breakers of its targets close, at most until then
  queued_sources uuid[],
  constraint redrives_concurrency check (concurrency >= 1),
  constraint redrives_earlier_check check (earlier in ('hold', 'include', 'pass')),
  constraint redrives_lane_check check (lane in ('main', 'slow')),
  constraint redrives_mode_check check (mode in ('verify', 'deliver'))
);
create index redrives_live on redrives (state) where (state in ('PLANNING', 'PLANNED', 'RUNNING', 'PAUSED'));

-- Events that were restored do not expire before this time, however old they are.
create table restored_events (
  id uuid primary key, -- of the event
  kept_until timestamptz not null
);
create index restored_events_until on restored_events (kept_until);

-- Each period is looked at once a day; a row is made in the transaction that makes the operation.
create table retention_runs (
  source text not null, -- name; '' = every one
  error_code text not null, -- '' = every one
  due_before timestamptz not null, -- events of the days before this are due
  operation_id uuid, -- null = nothing was due
  at timestamptz default now() not null,
  primary key (source, error_code, due_before)
);
create index retention_runs_at on retention_runs (at);

create table saved_views (
  id uuid primary key,
  name text not null unique,
  filter jsonb not null,
  created_by text not null,
  created_at timestamptz default now() not null
);

-- The secret is in the cookie alone; here is its SHA-256.
create table sessions (
  id uuid primary key,
  secret_hash bytea not null unique,
  account_id uuid not null references accounts(id) on delete cascade,
  means text not null,
  created_at timestamptz default now() not null,
  seen_at timestamptz default now() not null,
  expires_at timestamptz not null, -- Whatever comes first of this and the idle time.
  address text,
  agent text,
  oidc_sid text,
  id_token bytea,
  constraint sessions_means_check check (means in ('password', 'oidc', 'link'))
);
create index sessions_of_account on sessions (account_id, created_at desc);

create table settings (
  key text primary key,
  value jsonb not null,
  updated_by text not null,
  updated_at timestamptz default now() not null
);

-- Failed tries in a row, by account and by address. A row is forgotten an hour after the last try.
create table sign_in_tries (
  key text primary key,
  failures integer not null,
  last_at timestamptz not null,
  until_at timestamptz not null
);

-- Parked events that a person lets the later versions of their aggregate pass by. In force while the event is as it was then:
-- another revision, or a bounce, makes it hold again.
create table skipped_heads (
  id uuid primary key, -- the event
  revision integer not null,
  bounces integer not null,
  reason text not null,
  created_by text not null,
  created_at timestamptz not null
);

-- Slices that can do nothing before items of another redrive are closed: whoever closes those rings the slice, and the
-- reconciler rings it after `until`.
create table slice_waits (
  redrive_id uuid not null,
  slice integer not null,
  until timestamptz not null,
  primary key (redrive_id, slice)
);

create table source_consumers (
  source_id uuid not null,
  worker text not null,
  state text not null,
  since timestamptz default now() not null, -- of the state
  at timestamptz default now() not null, -- of the report
  mode_at timestamptz not null, -- sources.mode_at of the mode that the worker obeys
  lag bigint, -- null = unknown
  parked bigint not null, -- since this consumer began
  rate_per_second double precision, -- parked, over the last minute
  last_error text, -- kept after the recovery
  last_error_at timestamptz,
  recovered_at timestamptz, -- null = the last error lasts
  retry_at timestamptz, -- when it connects again
  parts jsonb default '[]'::jsonb not null, -- [{name, lag}]
  part_count integer default 0 not null,
  primary key (source_id, worker)
) with (fillfactor='50');

-- How far a log is read that keeps what was read, such as a RabbitMQ stream. Written with the events that it is about.
create table source_positions (
  source_id uuid not null,
  log text not null,
  read_to bigint, -- offset: this and all before is parked; null = none yet
  mark text, -- hash of the body at that offset
  holder text, -- the consumer that reads it; null = none
  held_until timestamptz,
  primary key (source_id, log)
);

-- Parkade's store. Written for one PostgreSQL 15+ and for a hash-sharded one: no sequence as a key, no trigger, and
-- every unique key of a hot table holds its distribution column (`id`; `event_id` for event_keys).
create table sources (
  id uuid primary key,
  name text not null unique,
  kind text not null,
  config jsonb not null, -- secrets by reference only (env:NAME)
  created_at timestamptz default now() not null,
  updated_at timestamptz default now() not null,
  mode text default 'running' not null,
  mode_at timestamptz default now() not null, -- since when it has this mode
  mode_by text, -- who set it; null = nobody since the source was made
  mode_reason text,
  retried_at timestamptz, -- the last time somebody asked for an attempt at once
  needs_approval boolean default false not null,
  storm_per_minute integer,
  known_days integer default 400,
  links jsonb default '[]'::jsonb not null,
  contract jsonb,
  constraint sources_known_days_check check ((known_days >= 7) and (known_days <= 3650)),
  constraint sources_mode_check check (mode in ('running', 'paused', 'draining', 'stopped')),
  constraint sources_storm_per_minute_check check (storm_per_minute >= 1)
);

-- JSON Schemas of payloads by source and event type, every version of them.
create table payload_schemas (
  id uuid primary key,
  source_id uuid not null references sources(id) on delete cascade,
  event_type text, -- null = events of the types without a schema of their own
  version integer not null, -- counts the versions of the source and type
  body json not null, -- as it was sent: its keys keep their order. Never changes
  current boolean not null, -- in force
  origin text not null,
  events_read integer, -- of an inferred one
  reason text,
  created_by text not null,
  created_at timestamptz default now() not null,
  unique nulls not distinct (source_id, event_type, version),
  constraint payload_schemas_origin_check check (origin in ('uploaded', 'inferred', 'source'))
);
create unique index payload_schemas_current on payload_schemas (source_id, coalesce(event_type, '')) where current;

-- A person's stop of all sends, or of the sends to one target; and the sends of a redrive at once.
create table stops (
  scope text primary key, -- 'everything', or the id of the target
  target_id uuid, -- null = everything; of a removed target: over nothing
  reason text not null,
  created_by text not null,
  created_at timestamptz not null,
  lifted_at timestamptz, -- null = in force
  constraint stops_scope check (scope = coalesce((target_id)::text, 'everything'))
);

-- One row per (source, lane): where a redrive of this source's events delivers, and how fast at the most.
create table targets (
  id uuid primary key,
  source_id uuid not null references sources(id) on delete cascade,
  lane text,
  name text not null unique,
  rate_per_second double precision, -- null = unlimited
  burst double precision, -- null = a tenth of a second's worth, at least 1
  bulkhead integer default 20 not null,
  policy_name text default 'slow-lane' not null,
  retryable boolean default true not null, -- whitelisted for automatic repeats
  breaker_force text,
  reset_at timestamptz, -- an operator said the target is well: workers forget its history
  updated_at timestamptz default now() not null,
  warm_up_ms integer default 0 not null,
  no_bursts boolean default false not null,
  fallback jsonb,
  destination jsonb, -- of a named one: its settings in place of the source's
  needs_approval boolean default false not null,
  contract jsonb,
  unique (source_id, lane),
  constraint targets_breaker_force_check check (breaker_force in ('open', 'closed')),
  constraint targets_lane_check check (lane in ('main', 'slow')),
  constraint targets_lane_or_destination check ((lane is null) = (destination is not null))
);

create table worker_heartbeats (
  id uuid primary key,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  info jsonb default '{}'::jsonb not null -- running slices, per-target engine state
);

create view dlq_event_rows as
 select e.id,
    e.source_id,
    e.event_id,
    e.aggregate_type,
    e.aggregate_id,
    e.version,
    e.error_code,
    e.fingerprint,
    e.first_seen,
    e.status,
    e.attempts,
    e.bounces,
    e.redrives,
    e.failures,
    e.last_attempt_at,
    e.redrive_at,
    e.confirmed_at,
    e.cooldown_until,
    e.last_operator,
    e.bounced_redrives,
    e.confirmed_redrive,
    f.aggregate_id as found_aggregate_id,
    f.event_type,
    f.trace_id,
    f.failed_at,
    f.last_error_code,
    f.last_error,
    f.payload_bytes,
    f.tags,
    e.admission,
    e.revision
   from (dlq_events e
     left join dlq_event_facts f on ((f.id = e.id)));

create view dlq_level_ages as
 select dlq_level_hours.hour,
    dlq_level_hours.source_id,
    dlq_level_hours.error_code,
    dlq_level_hours.status,
    dlq_level_hours.n
   from dlq_level_hours
union all
 select dlq_levels.hour,
    dlq_levels.source_id,
    dlq_levels.error_code,
    dlq_levels.status,
    dlq_levels.n
   from dlq_levels;

create view dlq_level_sums as
 select dlq_level_totals.source_id,
    dlq_level_totals.error_code,
    dlq_level_totals.status,
    dlq_level_totals.n
   from dlq_level_totals
union all
 select dlq_levels.source_id,
    dlq_levels.error_code,
    dlq_levels.status,
    dlq_levels.n
   from dlq_levels;

create view dlq_source_level_ages as
 select dlq_source_level_hours.hour,
    dlq_source_level_hours.source_id,
    dlq_source_level_hours.status,
    dlq_source_level_hours.n
   from dlq_source_level_hours
union all
 select dlq_levels.hour,
    dlq_levels.source_id,
    dlq_levels.status,
    dlq_levels.n
   from dlq_levels;

create function forget_in_json(value jsonb, texts text) returns jsonb
    language plpgsql immutable
    as $_$
begin
  case jsonb_typeof(value)
    when 'string' then
      return to_jsonb(regexp_replace(value #>> '{}', texts, '[forgotten]', 'g'));
    when 'number' then
      return case when value #>> '{}' ~ ('^(?:' || texts || ')$') then '"[forgotten]"'::jsonb else value end;
    when 'array' then
      return coalesce((select jsonb_agg(forget_in_json(e, texts) order by n)
                         from jsonb_array_elements(value) with ordinality as x(e, n)), '[]'::jsonb);
    when 'object' then
      return coalesce((select jsonb_object_agg(regexp_replace(k, texts, '[forgotten]', 'g'), forget_in_json(e, texts))
                         from jsonb_each(value) as x(k, e)), '{}'::jsonb);
    else
      return value;
  end case;
end $_$;

create function redact_audit_entries(forget uuid, after_id uuid, batch integer) returns table(last_id uuid, redacted integer)
    language plpgsql security definer
    set search_path to 'public', 'pg_temp'
    as $$
declare
  texts text;
  jsons text;
begin
  select patterns ->> 'text', patterns ->> 'json' into texts, jsons from forgets where id = forget and finished_at is null;
  if texts is null then
    raise exception 'no forget % runs', forget;
  end if;
  return query
    with page as materialized (
      select a.id from audit_entries a where after_id is null or a.id > after_id order by a.id limit batch
    ), changed as (
      update audit_entries a
         set reason = regexp_replace(a.reason, texts, '[forgotten]', 'g'),
             subject_id = regexp_replace(a.subject_id, texts, '[forgotten]', 'g'),
             before = forget_in_json(a.before, texts),
             after = forget_in_json(a.after, texts)
        from page p
       where a.id = p.id
         and (a.reason ~ texts or a.subject_id ~ texts or a.before::text ~ jsons or a.after::text ~ jsons)
      returning a.id
    ), marked as (
      insert into audit_pending (entry_id, ref, kind) select c.id, forget, 'redaction' from changed c
      on conflict do nothing
    )
    select (select max(p.id::text)::uuid from page p), (select count(*)::integer from changed);
end $$;

-- Payloads are compressed JSON more often than not; lz4 costs a tenth of pglz on the ingest path.
-- The embedded server is built without it and keeps pglz.
do $$ begin
  alter table dlq_event_bodies alter column payload set compression lz4;
  alter table event_revisions alter column payload set compression lz4;
exception when feature_not_supported then null;
end $$;

insert into admission_revision (id, revision) values (1, 0);
insert into alert_evaluation (id, generation, started_at) values (1, 0, '1970-01-01 00:00:00+00');
insert into redrive_rule_revision (id, revision) values (1, 0);
insert into alert_rules (id, name, enabled, version, severity, body, created_by, created_at, updated_by, updated_at) values
  (gen_random_uuid(), 'More arrivals than usual', true, 1, 'warning', '{"kind": "inflow", "forMs": 0, "factor": 3, "atLeast": 50, "clearMs": 600000, "repeatMs": 14400000, "windowMs": 900000, "perSource": true}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'New group', true, 1, 'warning', '{"kind": "new-group", "forMs": 0, "atLeast": 5, "clearMs": 60000, "quietMs": 86400000, "repeatMs": 14400000}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Group came back', true, 1, 'warning', '{"kind": "group-back", "forMs": 0, "atLeast": 5, "clearMs": 60000, "quietMs": 604800000, "repeatMs": 14400000}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Many parked events', true, 1, 'warning', '{"kind": "size", "above": 100000, "forMs": 300000, "clearMs": 300000, "repeatMs": 14400000, "perSource": false}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Old parked events', true, 1, 'warning', '{"kind": "age", "forMs": 300000, "aboveMs": 604800000, "clearMs": 300000, "repeatMs": 86400000, "perSource": true}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Redrives fail or come back', true, 1, 'critical', '{"kind": "success", "below": 0.8, "forMs": 0, "atLeast": 20, "clearMs": 600000, "repeatMs": 14400000, "windowMs": 3600000, "perSource": true}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Breaker open', true, 1, 'warning', '{"kind": "breaker", "forMs": 300000, "clearMs": 120000, "repeatMs": 14400000}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Self-healing', true, 1, 'info', '{"kind": "healing", "forMs": 600000, "clearMs": 300000, "repeatMs": 14400000}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Source is not read', true, 1, 'critical', '{"kind": "source", "forMs": 120000, "states": ["failing", "unreachable", "unread"], "clearMs": 60000, "repeatMs": 14400000}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Contract broken', true, 1, 'warning', '{"kind": "contract", "forMs": 900000, "clearMs": 300000, "repeatMs": 86400000}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Redrive stands still', true, 1, 'warning', '{"kind": "redrive-still", "forMs": 600000, "clearMs": 0, "repeatMs": 14400000}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Little room left', true, 1, 'critical', '{"kind": "storage", "forMs": 60000, "clearMs": 300000, "repeatMs": 14400000, "belowShare": 0.2}', 'parkade', now(), 'parkade', now()),
  (gen_random_uuid(), 'Audit is bad', true, 1, 'critical', '{"kind": "audit", "forMs": 0, "clearMs": 0, "repeatMs": 14400000}', 'parkade', now(), 'parkade', now());
