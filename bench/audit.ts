import { randomUUID } from "node:crypto";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { verifyChains } from "@/lib/guard/audit-chain/verify-chains";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { median, timed } from "./figures";
import { startBenchStack } from "./stack";

/**
 * What the seals of the audit cost: entries of 100 events each, a transaction for each, with a sealing worker beside them,
 * against the same statement without the row that asks for a seal. In turns, on one connection. Then how fast entries are
 * sealed and checked.
 *
 * BENCH_ENTRIES (1,000) and BENCH_ROUNDS (7) make a quick run.
 */

const ENTRIES = Number(process.env.BENCH_ENTRIES ?? 1_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const EVENTS = 100;
const SEAL_EVERY_MS = 1_000;
const RATIO_MAX = 1.15;

/** The statement of the release before. */
const UNSEALED = `with entry as (
    insert into audit_entries (id, at, actor, action, subject_kind, subject_id, redrive_id, reason, before, after, count, event_ids)
    values ($1, to_timestamp($2::float8 / 1000), 'bench', 'event.ignored', 'event', null, null, 'bench',
      '{"status": "PENDING"}', '{"status": "IGNORED"}', $4, null))
  insert into audit_subjects (event_id, entry_id) select unnest($3::uuid[]), $1`;

export async function run() {
  const stack = await startBenchStack();
  const db = createDb(stack.databaseUrl, { max: 3 });
  try {
    const rounds = { sealed: [] as number[], unsealed: [] as number[] };
    for (let round = 0; round <= ROUNDS; round++) {
      const unsealed = await timed(() => many((tx, eventIds) => plainly(tx, eventIds), db));
      const sealed = await withSealer(db, () => timed(() => many((tx, eventIds) => asProduct(tx, eventIds), db)));
      // The first round fills caches.
      if (round === 0) continue;
      rounds.sealed.push(sealed);
      rounds.unsealed.push(unsealed);
    }
    await db.run("insert into audit_pending (entry_id, ref) select id, id from audit_entries on conflict do nothing");
    await db.run("truncate audit_seals");
    let seals = 0;
    const sealMs = await timed(async () => {
      seals = await sealEntries(db);
    });
    let good = false;
    const verifyMs = await timed(async () => {
      ({ good } = await verifyChains(db, { from: [], fromEntry: null, anchors: [] }));
    });
    const ratio = median(rounds.sealed) / median(rounds.unsealed);
    const perSecond = (ms: number, n: number) => Math.round((n / ms) * 1_000);
    return {
      appendsPerSecond: perSecond(median(rounds.sealed), ENTRIES),
      withoutSeals: perSecond(median(rounds.unsealed), ENTRIES),
      ratio,
      sealsPerSecond: perSecond(sealMs, seals),
      verifiedPerSecond: perSecond(verifyMs, seals),
      good,
      withinBounds: good && ratio <= RATIO_MAX,
    };
  } finally {
    await db.end();
    await stack.stop();
  }
}

type Tx = Parameters<Parameters<Db["transaction"]>[0]>[0];

async function many(append: (tx: Tx, eventIds: string[]) => Promise<unknown>, db: Db): Promise<void> {
  for (let i = 0; i < ENTRIES; i++) {
    const eventIds = Array.from({ length: EVENTS }, () => randomUUID());
    await db.transaction((tx) => append(tx, eventIds));
  }
}

function plainly(tx: Tx, eventIds: string[]): Promise<number> {
  const nowMs = Date.now();
  return tx.run(UNSEALED, [uuidv7(nowMs), nowMs, eventIds, EVENTS], { name: "bench-append" });
}

function asProduct(tx: Tx, eventIds: string[]): Promise<string> {
  return appendAudit(tx, {
    ...{ actor: "bench", action: "event.ignored", subjectKind: "event", subjectId: null, reason: "bench" },
    ...{ before: { status: "PENDING" }, after: { status: "IGNORED" }, count: EVENTS, atMs: Date.now(), eventIds },
  });
}

async function withSealer<T>(db: Db, work: () => Promise<T>): Promise<T> {
  let sealing: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    sealing = sealing.then(() => sealEntries(db));
  }, SEAL_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await sealing;
  }
}
