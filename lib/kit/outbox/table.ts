import { quotedTable } from "@/lib/kit/sql";

export type OutboxTableOptions = {
  /** `outbox` by default; `schema.name` is allowed. */
  table?: string;
  /** A table that takes sent rows, see `archiveSent`. None by default. */
  archive?: string;
};

/** The last part of the name: indexes, constraints and the channel of NOTIFY are named after it. */
function bareName(table: string): string {
  return table.slice(table.lastIndexOf(".") + 1);
}

/** The channel of NOTIFY and LISTEN. */
export function outboxChannel(table: string): string {
  return bareName(table);
}

/**
 * The statements that make the table; safe to run again. `seq` is the order of the events of an aggregate. `claim` and
 * `claimed_until` stand in no index, so that a claim is a heap-only update.
 */
export function outboxTableSql({ table = "outbox", archive }: OutboxTableOptions = {}): string {
  const name = quotedTable("table", table);
  const bare = bareName(table);
  return `create table if not exists ${name} (
  seq            bigint generated always as identity,
  id             text primary key,
  aggregate_type text not null default '',
  aggregate_id   text not null,
  event_type     text not null,
  destination    text not null,
  message_key    text,
  payload        bytea not null,
  headers        jsonb not null default '[]',
  status         text not null default 'NEW' check (status in ('NEW', 'SENT', 'FAILED')),
  attempts       integer not null default 0,
  available_at   timestamptz not null default now(),
  claim          uuid,
  claimed_until  timestamptz,
  last_error     text,
  created_at     timestamptz not null default now(),
  sent_at        timestamptz,
  version        bigint
) with (fillfactor = 70);
create index if not exists "${bare}_new" on ${name} (seq) where status = 'NEW';
create index if not exists "${bare}_order" on ${name} (aggregate_id, aggregate_type, seq) where status <> 'SENT';
create index if not exists "${bare}_sent" on ${name} (sent_at) where status = 'SENT';
${archive === undefined ? "" : `create table if not exists ${quotedTable("archive", archive)} (like ${name});\n`}${withVersion([name, ...(archive === undefined ? [] : [quotedTable("archive", archive)])])}`;
}

/** Tables made by version 0.1.0 lack the column. */
function withVersion(names: readonly string[]): string {
  return names.map((name) => `alter table ${name} add column if not exists version bigint;\n`).join("");
}
