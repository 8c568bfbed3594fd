-- What happened outside of Parkade, for the charts: a deployment, an incident, a note.
create table markers (
  id         uuid primary key,             -- UUIDv7
  kind       text not null check (kind in ('deploy', 'incident', 'note')),
  label      text not null,
  source     text,                         -- null = it concerns every source
  url        text,
  at         timestamptz not null,
  created_by text not null,
  created_at timestamptz not null
);
create index markers_at on markers (at);
