-- How far a log is read that keeps what was read, such as a RabbitMQ stream. Written with the events that it is about.

create table source_positions (
  source_id  uuid not null,
  log        text not null,
  read_to    bigint,                                       -- offset: this and all before is parked; null = none yet
  mark       text,                                         -- hash of the body at that offset
  holder     text,                                         -- the consumer that reads it; null = none
  held_until timestamptz,
  primary key (source_id, log)
);
