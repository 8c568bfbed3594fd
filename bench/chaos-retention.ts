import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { verifyArchive } from "@/lib/keep/archive/verify-archive";
import { systemClock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { deadLetter } from "@/lib/testing/letters";
import type { ChaosLoad } from "./chaos-load.ts";

/** A source that no redrive of the load selects. */
export const OLD = "old";
const CODE = "TOO_OLD";
/** After each fault as many events are parked, on two days that are due; one in ten is under a legal hold. */
const EVENTS = 600;
const HELD_EVERY = 10;
const DAYS_AGO = [31, 33];
const DAY_MS = 86_400_000;
const HOLD = { name: "claim", value: "118" };

export type ChaosRetention = {
  /** Stores more events that are due, and lets the day's periods be looked at again: by the next worker that starts. */
  add(): Promise<void>;
  /** Events that must expire and are still stored. */
  waiting(): Promise<number>;
  /** What is lost, doubled, or in the wrong place. */
  check(): Promise<unknown[]>;
  counts(): Promise<Record<string, number>>;
};

export async function startRetention(db: Db, load: ChaosLoad, archive: string): Promise<ChaosRetention> {
  const hold = { scope: { tag: HOLD }, reason: "chaos" };
  const { status } = await load.call("POST", "/api/v1/holds", hold, { "idempotency-key": "chaos-hold" });
  if (status >= 300) throw new Error(`the hold was refused: ${status}`);
  const clock = systemClock;
  const log = createLog({ level: "silent", process: "chaos" });
  const held = new Map<string, boolean>();
  const add = async () => {
    for (const daysAgo of DAYS_AGO) {
      const atMs = clock.wallMs() - daysAgo * DAY_MS;
      const arrivals = Array.from({ length: EVENTS / DAYS_AGO.length }, (_, index) => {
        const eventId = `old-${held.size}`;
        const isHeld = index % HELD_EVERY === 0;
        held.set(eventId, isHeld);
        const tags: Record<string, string> = isHeld ? { [HOLD.name]: HOLD.value } : {};
        const named = { eventId, aggregateId: null, version: null, errorCode: CODE, failedAtMs: atMs };
        return { source: OLD, letter: deadLetter({ ...named, tags }) };
      });
      const deps = { db, log, clock: { ...clock, wallMs: () => atMs }, archive: null };
      await parkEvents(deps, arrivals, localViewer("producer"));
    }
    await db.run(
      "delete from retention_runs r using bulk_operations o where o.id = r.operation_id and o.state <> 'RUNNING'",
    );
    await db.run("delete from retention_runs where operation_id is null");
  };
  const placesOf = async () => {
    const rows = await db.query<{ id: string; places: string }>(
      `select event_id as id, string_agg(place, ' and ') as places
         from (select event_id, 'store' as place from dlq_events where error_code = $1
                union all select event_id, 'archive' from archived_events where error_code = $1) p group by 1`,
      [CODE],
    );
    return new Map(rows.map(({ id, places }) => [id, places]));
  };
  const misplaced = async () => {
    const places = await placesOf();
    return [...held].flatMap(([eventId, isHeld]) => {
      const place = places.get(eventId) ?? "nowhere";
      if (place === (isHeld ? "store" : "archive")) return [];
      return [{ rule: "what is due lies in the archive once, what is held in the store once", eventId, isHeld, place }];
    });
  };
  const expired = async () => {
    const [row] = await db.query<{ operations: number; changed: number; running: number }>(
      `select count(*)::int as operations, coalesce(sum(changed), 0)::int as changed,
              count(*) filter (where state = 'RUNNING')::int as running from bulk_operations where kind = 'expire'`,
    );
    return row!;
  };
  return {
    add,
    waiting: async () =>
      (await misplaced()).filter(({ place }) => place === "store").length + (await expired()).running,
    check: async () => {
      const places = [...(await placesOf()).values()];
      const archived = places.filter((place) => place === "archive").length;
      const { changed } = await expired();
      const counted =
        changed === archived ? [] : [{ rule: "what the operations have counted is archived", changed, archived }];
      return [...(await misplaced()), ...counted, ...(await faultsOf(db, archive))];
    },
    counts: async () => {
      const { operations, changed } = await expired();
      return { parked: held.size, held: [...held.values()].filter(Boolean).length, expired: changed, operations };
    },
  };
}

/** Objects that the store names, and that are not what was written. */
async function faultsOf(db: Db, location: string): Promise<unknown[]> {
  const archive = openArchiveStore(parseArchiveLocation(location), { clock: systemClock });
  const faults: unknown[] = [];
  for (let after: string | undefined; ; ) {
    const answer = await verifyArchive({ db, archive }, after === undefined ? {} : { after }, localViewer("ada"));
    faults.push(...answer.faults.map((fault) => ({ rule: "the archive gives back what was written", ...fault })));
    if (answer.next === null) break;
    after = answer.next;
  }
  await archive.close();
  return faults;
}
