import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { verifyArchive } from "@/lib/keep/archive/verify-archive";
import { systemClock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { deadLetter } from "@/lib/testing/letters";

/** A source that no redrive of the load selects. */
export const OLD = "old";
const CODE = "TOO_OLD";
/** After each fault as many events are parked, on two days that are due. */
const EVENTS = 600;
const DAYS_AGO = [31, 33];
const DAY_MS = 86_400_000;

export type ChaosRetention = {
  /** Stores more events that are due, and lets the day's periods be looked at again: by the next worker that starts. */
  add(): Promise<void>;
  /** Events that must expire and are still stored. */
  waiting(): Promise<number>;
  /** What is lost, doubled, or in the wrong place. */
  check(): Promise<unknown[]>;
  counts(): Promise<Record<string, number>>;
};

export async function startRetention(db: Db, archive: string): Promise<ChaosRetention> {
  const clock = systemClock;
  const log = createLog({ level: "silent", process: "chaos" });
  const parked: string[] = [];
  const add = async () => {
    for (const daysAgo of DAYS_AGO) {
      const atMs = clock.wallMs() - daysAgo * DAY_MS;
      const arrivals = Array.from({ length: EVENTS / DAYS_AGO.length }, () => {
        const eventId = `old-${parked.length}`;
        parked.push(eventId);
        const named = { eventId, aggregateId: null, version: null, errorCode: CODE, failedAtMs: atMs };
        return { source: OLD, letter: deadLetter(named) };
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
    return parked.flatMap((eventId) => {
      const place = places.get(eventId) ?? "nowhere";
      return place === "archive" ? [] : [{ rule: "what is due lies in the archive once", eventId, place }];
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
      return { parked: parked.length, expired: changed, operations };
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
