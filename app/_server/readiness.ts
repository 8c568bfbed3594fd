import type { Deps } from "@/app/_server/deps";
import { DomainError } from "@/lib/core/problem";
import { readMigrations } from "@/lib/store/read/migrations";

export type ReadyCheck = { ok: boolean; detail: string };
export type Readiness = { ready: boolean; checks: Record<"store" | "queue" | "migrations", ReadyCheck> };

/** A dependency that is silent for longer counts as away: a probe must not hang. */
const CHECK_MS_MAX = 3_000;

/** Store, queue and migrations, asked at the same time. Never rejects. */
export async function readiness(deps: Pick<Deps, "db" | "lane" | "clock">): Promise<Readiness> {
  const [store, queue, migrations] = await Promise.all([
    check(deps, async () => {
      await deps.db.query("select 1");
      return "PostgreSQL answers";
    }),
    check(deps, async () => {
      await deps.lane.ping();
      return `the ${deps.lane.backend} queue answers`;
    }),
    check(deps, async () => {
      const { applied, unfinished } = await readMigrations(deps.db);
      if (unfinished.length > 0) throw new DomainError("store-unavailable", `migration ${unfinished[0]} is unfinished`);
      if (applied === 0) throw new DomainError("store-unavailable", "no migration was applied: start the product once");
      return `${applied} applied`;
    }),
  ]);
  return { ready: store.ok && queue.ok && migrations.ok, checks: { store, queue, migrations } };
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
