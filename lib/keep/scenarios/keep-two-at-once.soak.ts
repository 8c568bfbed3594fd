import { describe, expect, test } from "vitest";
import { workForget } from "@/lib/keep/forget/work-forget";
import { runRetention } from "@/lib/keep/retention/expire-events";
import { type KeepDeps, stepped, WORKS } from "@/lib/keep/scenarios/testing/keep-works";
import { keptWorldOfEachTest, PLACES } from "@/lib/keep/scenarios/testing/kept-world";
import { createDb } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

type Run = (deps: KeepDeps) => Promise<unknown>;
type Persons = "hers" | "his";
type Pair = { title: string; isDue?: boolean; forgotten: Persons[]; begin(source: string): Promise<[Run, Run]> };

const kept = keptWorldOfEachTest(PLACES[0]!.open);
const { world } = kept;

const forgetOf = async (source: string, of: Persons): Promise<Run> => {
  const id = await kept.requestForget(source, of);
  return (deps) => workForget(deps, id, new AbortController().signal);
};

/** It stands before the steps of the operation alone: `retention.itest.ts` lets three workers make it at once. */
const expire: Run = async (deps) => {
  await runRetention({ ...deps, upkeepDb: world.db });
  await WORKS.removal(deps);
};

const PAIRS: Pair[] = [
  {
    title: "two forgets of two persons, whose events lie in the same sets",
    forgotten: ["hers", "his"],
    begin: async (source) => {
      await kept.begin.restore(source);
      return [await forgetOf(source, "hers"), await forgetOf(source, "his")];
    },
  },
  {
    title: "a removal and a forget",
    forgotten: ["hers"],
    begin: async (source) => {
      await kept.begin.removal(source);
      return [WORKS.removal, await forgetOf(source, "hers")];
    },
  },
  {
    title: "a restore and a forget",
    forgotten: ["hers"],
    begin: async (source) => {
      await kept.begin.restore(source);
      return [WORKS.restore, await forgetOf(source, "hers")];
    },
  },
  {
    title: "two expiries of one day",
    isDue: true,
    forgotten: [],
    begin: async (source) => {
      await kept.begin.expiry(source);
      return [expire, expire];
    },
  },
];

/** Each pair, and the other way round where the two differ. */
const ORDERS = PAIRS.flatMap((pair) => [
  { ...pair, first: 0 as const },
  ...(pair.title.startsWith("two") ? [] : [{ ...pair, title: `${pair.title}, the forget first`, first: 1 as const }]),
]);

describe("at once, the second while the first stands before one of its steps, lose and double no event, and leave nothing forgotten", () => {
  test.each(ORDERS)("$title", async ({ begin, isDue = false, forgotten, first }) => {
    const before: Record<string, unknown> = {};
    const staying: string[] = [];
    let stood = true;
    for (let step = 1; stood; step++) {
      const source = `step-${step}`;
      const events = await kept.park(source, isDue);
      Object.assign(before, await kept.rows());
      const runs = await begin(source);
      staying.push(...events.filter(({ of }) => !(forgotten as string[]).includes(of)).map(({ eventId }) => eventId));
      stood = await runBoth(runs[first], runs[1 - first]!, step);
      // A worker tries again what met the locks of the other one. A person may restore again, and need not.
      if (runs[0] !== WORKS.restore) await runs[0](kept.deps());
      await runs[1](kept.deps());
      const places = await kept.places();
      expect(Object.keys(places).toSorted(), `at step ${step}`).toEqual(staying.toSorted());
      expect(["archive", "store"]).toEqual(expect.arrayContaining(Object.values(places)));
      expect(await kept.faults({ source })).toEqual([]);
    }
    for (const person of forgotten) await kept.expectForgotten(person);
    await WORKS.restore(kept.deps());
    const after = await kept.rows();
    for (const [eventId, row] of Object.entries(after)) expect(row).toEqual(before[eventId]);
  });

  /** The second begins while the first stands before a step, and the first goes on when the second ends or waits for a lock. */
  async function runBoth(first: Run, second: Run, atStep: number): Promise<boolean> {
    const db = createDb(world.url, { max: 3, applicationName: "the-second" });
    const waits = "select 1 from pg_stat_activity where application_name = 'the-second' and wait_event_type = 'Lock'";
    let running: Promise<void> | null = null;
    let ended = false;
    let steps = 0;
    const deps = stepped(kept.deps(), async ({ leaves, sees }) => {
      if ((!leaves && !sees) || ++steps !== atStep) return;
      running = patient(second({ ...kept.deps(), db })).finally(() => {
        ended = true;
      });
      await expect.poll(async () => ended || (await world.db.query(waits)).length > 0, { interval: 2 }).toBe(true);
    });
    await patient(first(deps));
    await running;
    await db.end();
    return running !== null;
  }

  /** A run that meets the locks of the other one, or finds nothing more to restore, is refused, and nothing else. */
  async function patient(run: Promise<unknown>): Promise<void> {
    try {
      await run;
    } catch (error) {
      if (!(error instanceof DomainError && ["events-busy", "unknown-event"].includes(error.code))) throw error;
    }
  }
});
