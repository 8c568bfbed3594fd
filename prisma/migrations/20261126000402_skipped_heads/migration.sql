-- Parked events that a person lets the later versions of their aggregate pass by. In force while the event is as it was then:
-- another revision, or a bounce, makes it hold again.

create table skipped_heads (
  id uuid primary key,                       -- the event
  revision int not null,
  bounces int not null,
  reason text not null,
  created_by text not null,
  created_at timestamptz not null
);
