import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Arrivals of archived events that may have come back: these are restored, then the batch is parked again. */
export class ArchivedArrival extends Error {
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    super("an event of the archive has arrived");
    this.ids = ids;
  }
}

/** `archive` null = none is configured. */
export type ArrivalDeps = { db: Db; clock: Clock; archive?: ArchiveStore | null; log?: Log };

/** An archive that did not answer is not asked again for this long: no source waits for it with each batch. */
const AWAY_MS = 30_000;
/** By `clock.nowMs()`, of each archive of this process. */
const awayUntilMs = new WeakMap<ArchiveStore, number>();

/**
 * Restores archived events that have arrived again. Answers the ids of those that the archive does not give back: their
 * arrivals are new events, since a failure must not be lost, whatever became of the archive. An event that takes too long to
 * be stored again is one of them: it would block its source for ever. Throws DomainError `store-unavailable`, `events-busy`.
 */
export async function restoreArrivals(deps: ArrivalDeps, ids: readonly string[]): Promise<string[]> {
  const { db, clock, archive = null, log } = deps;
  if (archive !== null && clock.nowMs() >= (awayUntilMs.get(archive) ?? 0)) {
    try {
      await restoreArchived({ db, clock, archive }, { ids: [...ids] }, systemViewer("intake"));
    } catch (error) {
      const code = error instanceof DomainError ? error.code : null;
      if (code === "store-unavailable" || code === "events-busy") throw error;
      if (code === "archive-unavailable") awayUntilMs.set(archive, clock.nowMs() + AWAY_MS);
      log?.warn({ err: error }, "archived events that arrived again were not restored");
    }
  }
  // Those that another batch has restored meanwhile are in the store.
  const left = await db.query<{ id: string }>("select id from archived_events where id = any($1::uuid[])", [ids]);
  if (left.length > 0) log?.warn({ events: left.length }, "archived events arrived again: they are parked as new ones");
  return left.map(({ id }) => id);
}
