-- What is masked beside the built-in detectors, and which of these are off. See docs/masking.md.
create table mask_rules (
  id         uuid primary key,                   -- UUIDv7
  source     text,                               -- null = every source
  kind       text not null check (kind in ('pointer', 'key', 'detector')),
  pattern    text not null,
  enabled    boolean not null,
  created_by text not null,
  created_at timestamptz not null,
  updated_by text not null,
  updated_at timestamptz not null
);
create unique index mask_rules_once on mask_rules (kind, pattern, coalesce(source, ''));
