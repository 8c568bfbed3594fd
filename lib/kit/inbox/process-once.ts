import { indexSql, quotedTable, runnerOf, type SqlSession } from "@/lib/kit/sql";

export type InboxTableOptions = { table?: string; versions?: string };

/** The statements that make both tables; safe to run again. */
export function inboxTableSql({
  table = "processed_events",
  versions = "processed_versions",
}: InboxTableOptions = {}): string {
  const name = quotedTable("table", table);
  return `create table if not exists ${name} (
  consumer     text not null,
  event_id     text not null,
  processed_at timestamptz not null default now(),
  primary key (event_id, consumer)
);
${indexSql(name, "age", "(processed_at)")}create table if not exists ${quotedTable("versions", versions)} (
  consumer       text not null,
  aggregate_type text not null default '',
  aggregate_id   text not null,
  version        bigint not null,
  primary key (aggregate_id, aggregate_type, consumer)
);
`;
}

/** The state of an aggregate that an event brings. */
export type EventVersion = { aggregateId: string; aggregateType?: string; version: bigint | number };

export type ProcessOptions = InboxTableOptions & {
  /** Refuses the event when this consumer has processed a newer version of its aggregate. */
  version?: EventVersion;
  /** Refuses an equal version as well: aggregate and version are a key, where each change causes one event. Default false. */
  strictVersion?: boolean;
};

export type Processed<T> = { status: "processed"; value: T } | { status: "duplicate" };

/** A newer version was already processed, or with `strictVersion` an equal one. A retry cannot succeed: park the event at once. */
export class StaleVersionError extends Error {
  readonly code = "VERSION_CONFLICT";
  readonly parkEarly = true;

  constructor({ aggregateId, version }: EventVersion, eventId: string) {
    super(
      `event ${eventId} has version ${version} of ${aggregateId}, but that or a newer one was processed: park it early`,
    );
    this.name = "StaleVersionError";
  }
}

/**
 * Runs `work` at most once for this consumer and event, within the caller's transaction: the row of the inbox and the
 * effects of `work` commit together or not at all. Costs one statement. A second delivery at the same time waits for the
 * first transaction's end. Rejects with StaleVersionError, or with the error of `work`; the caller rolls back.
 */
export async function processOnce<T, Session extends SqlSession>(
  tx: Session,
  consumer: string,
  eventId: string,
  work: (tx: Session) => Promise<T>,
  options: ProcessOptions = {},
): Promise<Processed<T>> {
  if (consumer === "") throw new TypeError("consumer is empty: give the name of the consumer");
  if (eventId === "") throw new TypeError("eventId is empty: give the producer's id of the event");
  const { version } = options;
  if (version === undefined) {
    if (!(await insertEvent(tx, consumer, eventId, options))) return { status: "duplicate" };
  } else {
    const seen = await insertVersioned(tx, consumer, eventId, { ...options, version });
    if (seen === "duplicate") return { status: "duplicate" };
    if (seen === "stale") throw new StaleVersionError(version, eventId);
  }
  return { status: "processed", value: await work(tx) };
}

async function insertEvent(tx: SqlSession, consumer: string, eventId: string, options: InboxTableOptions) {
  const name = quotedTable("table", options.table ?? "processed_events");
  const rows = await runnerOf(tx)(
    `insert into ${name} (consumer, event_id) values ($1, $2) on conflict do nothing returning 1 as inserted`,
    [consumer, eventId],
  );
  return rows.length > 0;
}

/**
 * The row of the aggregate is locked by its update, so two versions at the same time go one after the other. A stale event
 * is taken out of the inbox again: once repaired, it is no duplicate.
 */
async function insertVersioned(
  tx: SqlSession,
  consumer: string,
  eventId: string,
  options: ProcessOptions & { version: EventVersion },
): Promise<"new" | "duplicate" | "stale"> {
  const name = quotedTable("table", options.table ?? "processed_events");
  const versions = quotedTable("versions", options.versions ?? "processed_versions");
  const { aggregateId, aggregateType = "", version } = options.version;
  const run = runnerOf(tx);
  const [row] = await run<{ inserted: boolean; newest: boolean }>(
    `with event as (
       insert into ${name} (consumer, event_id) values ($1, $2) on conflict do nothing returning 1
     ), latest as (
       insert into ${versions} as v (consumer, aggregate_type, aggregate_id, version)
       select $1, $3, $4, $5::text::bigint where exists (select from event)
       on conflict (aggregate_id, aggregate_type, consumer) do update set version = excluded.version
         where v.version ${options.strictVersion ? "<" : "<="} excluded.version
       returning 1
     ) select exists (select from event) as inserted, exists (select from latest) as newest`,
    [consumer, eventId, aggregateType, aggregateId, String(version)],
  );
  if (!row!.inserted) return "duplicate";
  if (row!.newest) return "new";
  await run(`delete from ${name} where consumer = $1 and event_id = $2`, [consumer, eventId]);
  return "stale";
}

/** Removes rows older than `olderThanMs`, at least the longest time between two deliveries. Resolves with the number of rows. */
export async function forgetProcessed(
  session: SqlSession,
  { olderThanMs, table = "processed_events" }: { olderThanMs: number; table?: string },
): Promise<number> {
  const [row] = await runnerOf(session)<{ n: number }>(
    `with gone as (delete from ${quotedTable("table", table)}
        where processed_at < now() - make_interval(secs => $1::float8 / 1000) returning 1)
     select count(*)::int as n from gone`,
    [olderThanMs],
  );
  return row!.n;
}
