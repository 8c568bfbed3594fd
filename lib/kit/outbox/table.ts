import { indexSql, quotedTable, unlessThere } from "@/lib/kit/sql";

export type OutboxTableOptions = {
  /** `outbox` by default; `schema.name` is allowed. */
  table?: string;
  /** A table that takes sent rows, see `archiveSent`. None by default. */
  archive?: string;
};

/** The channel of NOTIFY and LISTEN: the last part of the name. */
export function outboxChannel(table: string): string {
  return table.slice(table.lastIndexOf(".") + 1);
}

/**
 * The statements that make the table; safe to run again, at each start of a service: where everything exists they lock nothing.
 * `seq` is the order of the events of an aggregate. `claim` and `claimed_until` are in no index, so that a claim is a heap-only update.
 */
export function outboxTableSql({ table = "outbox", archive }: OutboxTableOptions = {}): string {
  const name = quotedTable("table", table);
  const tables = archive === undefined ? [name] : [name, quotedTable("archive", archive)];
  const archiveSql = archive === undefined ? "" : `create table if not exists ${tables[1]} (like ${name});\n`;
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
${indexSql(name, "new", "(seq) where status = 'NEW'")}${indexSql(name, "order", "(aggregate_id, aggregate_type, seq) where status <> 'SENT'")}${indexSql(name, "sent", "(sent_at) where status = 'SENT'")}${archiveSql}${tables.map(withVersion).join("")}`;
}

/** Tables made by version 0.1.0 lack the column. */
function withVersion(name: string): string {
  return unlessThere(
    `select from pg_attribute where attrelid = to_regclass('${name}') and attname = 'version' and not attisdropped`,
    `alter table ${name} add column if not exists version bigint`,
  );
}
