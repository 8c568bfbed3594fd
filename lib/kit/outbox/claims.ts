import { randomUUID } from "node:crypto";
import { type Message, messageHeaders } from "@/lib/kit/outbox/message";
import { quotedTable, type RunSql } from "@/lib/kit/sql";

/** What happens to the later events of an aggregate when one of its events is FAILED. */
export type WhenFailed = "hold" | "release";

export type ClaimedEvent = { message: Message; attempts: number };

/** Events that nobody else publishes before the lease ends, by the database's clock. */
export type Claim = { token: string; events: ClaimedEvent[] };

type ClaimedRow = {
  id: string;
  aggregate_type: string;
  aggregate_id: string;
  event_type: string;
  destination: string;
  message_key: string | null;
  payload: Uint8Array;
  headers: Parameters<typeof messageHeaders>[0];
  attempts: number;
};

/** `counts`: the attempt counts against the limit. */
export type FailedEvent = { id: string; error: string; delayMs: number; final: boolean; counts: boolean };

/** The statements of a publisher on one table. Each one commits by itself. */
export class ClaimTable {
  readonly #run: RunSql;
  readonly #claim: string;
  readonly #sent: string;
  readonly #failed: string;
  readonly #release: string;

  constructor(run: RunSql, table: string, whenFailed: WhenFailed) {
    const name = quotedTable("table", table);
    this.#run = run;
    this.#claim = claimSql(name, whenFailed);
    this.#sent = `update ${name} set status = 'SENT', sent_at = now(), attempts = attempts + 1, last_error = null,
        claim = null, claimed_until = null
      where id = any($1::text[]) and claim = $2::uuid returning id`;
    this.#failed = `update ${name} o
        set status = case when f.final then 'FAILED' else 'NEW' end, attempts = o.attempts + f.counts::int,
            last_error = f.error,
            available_at = now() + make_interval(secs => f.delay_ms / 1000), claim = null, claimed_until = null
       from unnest($1::text[], $2::text[], $3::float8[], $4::boolean[], $5::boolean[]) as f (id, error, delay_ms, final, counts)
      where o.id = f.id and o.claim = $6::uuid returning o.id`;
    this.#release = `update ${name} set claim = null, claimed_until = null
      where id = any($1::text[]) and claim = $2::uuid`;
  }

  async claim(limit: number, leaseMs: number): Promise<Claim> {
    const token = randomUUID();
    const rows = await this.#run<ClaimedRow>(this.#claim, [limit, token, leaseMs]);
    return { token, events: rows.map(claimedEvent) };
  }

  /** The ids that were still claimed by `token`; the others may be published again. */
  async markSent(ids: readonly string[], token: string): Promise<string[]> {
    return (await this.#run<{ id: string }>(this.#sent, [ids, token])).map(({ id }) => id);
  }

  async markFailed(failed: readonly FailedEvent[], token: string): Promise<void> {
    const column = <T>(read: (event: FailedEvent) => T) => failed.map(read);
    await this.#run(this.#failed, [
      column(({ id }) => id),
      column(({ error }) => error),
      column(({ delayMs }) => delayMs),
      column(({ final }) => final),
      column(({ counts }) => counts),
      token,
    ]);
  }

  /** Gives back what was not tried. After `markFailed`: until then the claim of the failed event holds these. */
  async release(ids: readonly string[], token: string): Promise<void> {
    await this.#run(this.#release, [ids, token]);
  }
}

function claimedEvent(row: ClaimedRow): ClaimedEvent {
  const message: Message = {
    id: row.id,
    key: row.message_key ?? row.aggregate_id,
    body: row.payload,
    headers: messageHeaders(row.headers),
    destination: row.destination,
    eventType: row.event_type,
    aggregateType: row.aggregate_type,
    aggregateId: row.aggregate_id,
  };
  return { message, attempts: row.attempts };
}

/**
 * SQL: the row is not due yet. If it was inserted in the future, the clock of the database has been set back since: its due time
 * does not count until a retry sets another.
 */
const waits = (row: string) =>
  `(${row}.available_at > now() and (${row}.created_at <= now() + interval '5 s' or ${row}.available_at < ${row}.created_at))`;

/**
 * Claims due events in their order. An event is claimed only together with, or after, every older unsent event of its
 * aggregate. Two conditions hold that:
 * - `due` leaves out an event behind one that waits, is claimed or has FAILED, so that a held aggregate never fills the
 *   limit and stops the others;
 * - `gap` leaves out an event behind one that another claim locks at this moment (SKIP LOCKED), or that changed since
 *   this statement began: both are unsent here and not in `due`.
 */
function claimSql(name: string, whenFailed: WhenFailed): string {
  const blocking = `(older.status = 'NEW' and (${waits("older")} or older.claimed_until >= now())${
    whenFailed === "hold" ? " or older.status = 'FAILED'" : ""
  })`;
  const unsent = whenFailed === "hold" ? "older.status <> 'SENT'" : "older.status = 'NEW'";
  const sameAggregate = (row: string) =>
    `older.aggregate_id = ${row}.aggregate_id and older.aggregate_type = ${row}.aggregate_type`;
  return `with due as materialized (
    select o.seq, o.id, o.aggregate_type, o.aggregate_id
      from ${name} o left join lateral (
        select older.seq from ${name} older where ${sameAggregate("o")} and older.status <> 'SENT' and ${blocking}
         order by older.seq limit 1) held on true
     where o.status = 'NEW' and not ${waits("o")} and (o.claimed_until is null or o.claimed_until < now())
       and (held.seq is null or held.seq > o.seq)
     order by o.seq limit $1::int for update of o skip locked
  ), gap as materialized (
    select a.aggregate_type, a.aggregate_id, (
      select min(older.seq) from ${name} older
       where ${sameAggregate("a")} and older.seq < a.last and older.status <> 'SENT' and ${unsent}
         and older.seq not in (select seq from due)) as seq
      from (select aggregate_type, aggregate_id, max(seq) as last from due group by 1, 2) a
  ), claimed as (
    update ${name} o set claim = $2::uuid, claimed_until = now() + make_interval(secs => $3::float8 / 1000)
      from due join gap using (aggregate_type, aggregate_id)
     where o.id = due.id and (gap.seq is null or due.seq < gap.seq)
    returning o.seq, o.id, o.aggregate_type, o.aggregate_id, o.event_type, o.destination, o.message_key, o.payload,
              o.headers, o.attempts
  ) select id, aggregate_type, aggregate_id, event_type, destination, message_key, payload, headers, attempts
      from claimed order by seq`;
}

/** Removes sent rows older than `olderThanMs`, `batch` a statement, into `archive` if given. Resolves with the number of rows. */
export async function archiveSent(
  run: RunSql,
  { table, archive, olderThanMs, batch }: { table: string; archive?: string; olderThanMs: number; batch: number },
): Promise<number> {
  const name = quotedTable("table", table);
  const kept =
    archive === undefined ? "" : `, kept as (insert into ${quotedTable("archive", archive)} select * from gone)`;
  const text = `with old as materialized (
      select id from ${name} where status = 'SENT' and sent_at <= now() - make_interval(secs => $1::float8 / 1000)
       order by sent_at limit $2::int for update skip locked
    ), gone as (delete from ${name} o using old where o.id = old.id returning o.*)${kept}
    select count(*)::int as n from gone`;
  for (let moved = 0; ; ) {
    const [row] = await run<{ n: number }>(text, [olderThanMs, batch]);
    moved += row!.n;
    if (row!.n < batch) return moved;
  }
}

export type OutboxBacklog = { waiting: number; failed: number; oldestMs: number | null };

/** Counts of the unsent rows, and the age of the oldest: for a gauge and an alert. */
export async function readOutboxBacklog(run: RunSql, table: string): Promise<OutboxBacklog> {
  const [row] = await run<OutboxBacklog>(
    `select count(*) filter (where status = 'NEW')::int as waiting, count(*) filter (where status = 'FAILED')::int as failed,
            (extract(epoch from now() - min(created_at) filter (where status = 'NEW')) * 1000)::float8 as "oldestMs"
       from ${quotedTable("table", table)} where status <> 'SENT'`,
    [],
  );
  return row!;
}
