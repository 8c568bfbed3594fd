import type { Deps } from "@/app/_server/deps";
import { assertRoom } from "@/lib/intake/room/measure-room";
import { readArchiveFault } from "@/lib/keep/removal/archive-fault.read";
import { readAlertFault } from "@/lib/observe/alerts/alerts.read";
import { probeWrite, readMigrations, readWorkersAlive } from "@/lib/observe/health/readiness.write";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { CachePolicy } from "@/lib/retry/cache/response-cache";

type ReadyCheck = { ok: boolean; detail: string };
export type Readiness = {
  ready: boolean;
  checks: Record<"store" | "queue" | "migrations" | "worker" | "intake" | "archive" | "alerts", ReadyCheck>;
};
type ReadinessDeps = Pick<Deps, "db" | "lane" | "clock">;

/** A dependency that is silent for longer counts as unreachable: the answer must not hang. */
const CHECK_MS_MAX = 3_000;
/** Anybody may ask, by any host name, and each answer costs a commit. An answer serves all who ask within this time. */
export const READINESS_KEPT: CachePolicy = { entriesMax: 1, ttlMs: 1_000, staleMs: 0 };

/**
 * Whether Parkade does its work: store and queue take writes, migrations are applied, a worker lives. Never rejects. Parkade
 * without room for events is ready, one whose archive fails and one that evaluates no alerts: people must reach the console to
 * do something about it.
 */
export async function readiness(deps: ReadinessDeps & Pick<Deps, "readiness">): Promise<Readiness> {
  return (await deps.readiness.through("", () => askAll(deps))).value;
}

async function askAll(deps: ReadinessDeps): Promise<Readiness> {
  const [store, queue, migrations, worker, intake, archive, alerts] = await Promise.all([
    check(deps, async () => {
      await probeWrite(deps.db);
      return "PostgreSQL accepts writes";
    }),
    check(deps, async () => {
      await deps.lane.ping();
      return `the ${deps.lane.backend} queue answers`;
    }),
    check(deps, async () => {
      const { applied, unfinished } = await readMigrations(deps.db);
      if (unfinished.length > 0) throw new DomainError("store-unavailable", `migration ${unfinished[0]} is unfinished`);
      if (applied === 0)
        throw new DomainError("store-unavailable", "no migration has been applied: start Parkade once");
      return `${applied} applied`;
    }),
    check(deps, async () => {
      const alive = await readWorkersAlive(deps.db);
      if (alive === 0) throw new DomainError("store-unavailable", "no worker is alive: nothing is sent or consumed");
      return `${alive} alive`;
    }),
    check(deps, async () => {
      await assertRoom(deps.db);
      return "events are accepted";
    }),
    check(deps, async () => {
      const fault = await readArchiveFault(deps.db);
      if (fault !== null) throw new DomainError("archive-unavailable", fault);
      return "no removal is stuck";
    }),
    check(deps, async () => {
      const fault = await readAlertFault(deps.db);
      if (fault !== null) throw new DomainError("store-unavailable", fault);
      return "all alert rules are evaluated";
    }),
  ]);
  return {
    ready: store.ok && queue.ok && migrations.ok && worker.ok,
    checks: { store, queue, migrations, worker, intake, archive, alerts },
  };
}

async function check(deps: Pick<Deps, "clock">, work: () => Promise<string>): Promise<ReadyCheck> {
  const timeout = new AbortController();
  try {
    const late = deps.clock.sleep(CHECK_MS_MAX, timeout.signal).then(() => {
      throw new DomainError("read-timeout", `no answer within ${CHECK_MS_MAX} ms`);
    });
    return { ok: true, detail: await Promise.race([work(), late]) };
  } catch (error) {
    return { ok: false, detail: error instanceof DomainError ? error.message : "does not answer" };
  } finally {
    timeout.abort();
  }
}
