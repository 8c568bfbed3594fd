import type { Db, Tx } from "@/lib/platform/database/db";
import { isReadTimeout } from "@/lib/platform/database/retrying";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { sqlState } from "@/lib/platform/postgres-pool";

/**
 * One partition for each day, by the time within the UUIDv7 key. There is no default partition (with one, the planner
 * would have to merge all partitions), so a day must exist before its first event: the janitor makes days ahead, ingest
 * makes a missing day. The janitor drops old days that are empty.
 */

const DAY_MS = 86_400_000;
/**
 * A page of dlq_events keeps free space for new versions of all its rows, since a redrive freezes them in one transaction: an update on another
 * page would double its WAL, and write to every index.
 */
const PARTITIONED = {
  dlq_events: " with (fillfactor = 45)",
  dlq_event_facts: "",
  dlq_event_bodies: "",
  event_revisions: "",
  event_bounces: "",
};
/**
 * SQLSTATE of a row without a partition, and of a row that a check constraint refuses: only the second names a
 * constraint.
 */
const CHECK_VIOLATION = "23514";

/** True when no partition exists for a row: the partition can be made, and the statement repeated. */
export function isMissingPartition(error: unknown): boolean {
  return sqlState(error) === CHECK_VIOLATION && !(error as { constraint?: string }).constraint;
}

/**
 * Only one transaction makes partitions at a time: two that create the same table would both fail. The number is
 * arbitrary.
 */
const MAKER_LOCK = 7_305_101;

/** Start of the UTC day, epoch milliseconds. */
function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** `20261120` */
function dayName(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10).replaceAll("-", "");
}

/** Days that have a partition of this table, epoch milliseconds, oldest first. */
export async function partitionDays(db: Db | Tx, table: keyof typeof PARTITIONED = "dlq_events"): Promise<number[]> {
  const rows = await db.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = $1::regclass order by 1`,
    [table],
  );
  return rows.flatMap(({ name }) => {
    const digits = /^\w+_(\d{4})(\d{2})(\d{2})$/.exec(name);
    return digits ? [Date.UTC(Number(digits[1]), Number(digits[2]) - 1, Number(digits[3]))] : [];
  });
}

/**
 * Makes the missing days of [fromMs, toMs], and each table that a day of events lacks: an earlier version made no days of a table that is
 * new, and dropped empty tables of days with events. The table of a day is created alone and then attached, which does not block
 * readers or writers of the other days (`create table ... partition of` would). Returns the days that it made.
 */
export async function ensurePartitions(db: Db, fromMs: number, toMs: number = fromMs): Promise<number[]> {
  return db.transaction(async (tx) => {
    await tx.run("select pg_advisory_xact_lock($1)", [MAKER_LOCK]);
    const made = new Set<number>();
    const wanted = new Set(await partitionDays(tx));
    for (let day = dayOf(fromMs); day <= toMs; day += DAY_MS) wanted.add(day);
    for (const table of Object.keys(PARTITIONED) as (keyof typeof PARTITIONED)[]) {
      const have = new Set(await partitionDays(tx, table));
      for (const day of wanted) {
        if (have.has(day)) continue;
        await attachDay(tx, table, PARTITIONED[table], day);
        made.add(day);
      }
    }
    return [...made].sort((left, right) => left - right);
  });
}

async function attachDay(tx: Tx, table: string, storage: string, day: number): Promise<void> {
  const name = `${table}_${dayName(day)}`;
  await tx.run(`create table ${name} (like ${table} including all)${storage}`);
  await tx.run(
    `alter table ${table} attach partition ${name}
       for values from ('${uuidv7LowerBound(day)}') to ('${uuidv7LowerBound(day + DAY_MS)}')`,
  );
}

/** What waits for a list or an ingest of another day would make those behind it wait, too. */
const DROP_WAIT_MS_MAX = 500;
const UNDEFINED_TABLE = "42P01";

/**
 * Drops the tables of days before `beforeMs` without an event: an event that stays may be revised, or bounce, for the first time. An event
 * that is restored makes its day again. A table in use ends it: whoever reads it, such as a backup, probably reads the others. Returns the
 * number of tables.
 */
export async function dropEmptyDays(db: Db, beforeMs: number): Promise<number> {
  let dropped = 0;
  // The table of the events is the first.
  for (const table of Object.keys(PARTITIONED) as (keyof typeof PARTITIONED)[]) {
    const held = new Set(table === "dlq_events" ? [] : await partitionDays(db));
    for (const day of await partitionDays(db, table)) {
      if (day + DAY_MS > beforeMs || held.has(day)) continue;
      const outcome = await dropIfEmpty(db, table, day);
      if (outcome === "busy") return dropped;
      if (outcome === "dropped") dropped++;
    }
  }
  return dropped;
}

/** `kept`: it has rows, or another process has dropped it. */
async function dropIfEmpty(db: Db, table: keyof typeof PARTITIONED, day: number): Promise<"dropped" | "kept" | "busy"> {
  const name = `${table}_${dayName(day)}`;
  const isEmpty = async (store: Db | Tx) => (await store.query(`select 1 from ${name} limit 1`)).length === 0;
  try {
    if (!(await isEmpty(db))) return "kept";
    // What was deleted lies there until then, and is looked through: not while the whole table is locked.
    await db.run(`vacuum ${name}`);
    return await db.transaction(async (tx) => {
      await tx.run(`set local lock_timeout = ${DROP_WAIT_MS_MAX}`);
      await tx.run("select pg_advisory_xact_lock($1)", [MAKER_LOCK]);
      // The whole table first, as the drop of its part does: in another order it would wait for whoever waits for the part.
      await tx.run(`lock table ${table} in access exclusive mode`);
      if (!(await isEmpty(tx))) return "kept";
      // A restore has made the day again meanwhile.
      if (table !== "dlq_events" && (await partitionDays(tx)).includes(day)) return "kept";
      await tx.run(`drop table ${name}`);
      return "dropped";
    });
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return "kept";
    // The next round vacuums what is left.
    if (isReadTimeout(error)) return "kept";
    if (error instanceof DomainError && error.code === "events-busy") return "busy";
    throw error;
  }
}
