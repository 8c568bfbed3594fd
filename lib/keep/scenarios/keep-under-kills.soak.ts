import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WORKS, type Work } from "@/lib/keep/scenarios/testing/keep-works";
import { type KeptEvent, keptWorldOfEachTest, PLACES } from "@/lib/keep/scenarios/testing/kept-world";
import { describeWith } from "@/lib/testing/describe-with";
import { program } from "@/lib/testing/programs";

/** Where an event lies at the end of each work. */
const ENDS: Record<Work, (event: KeptEvent) => "store" | "archive" | null> = {
  removal: ({ ignored }) => (ignored ? "archive" : "store"),
  expiry: () => "archive",
  restore: () => "store",
  forget: ({ of, ignored }) => (of === "hers" ? null : ignored ? "archive" : "store"),
};

describe.each(PLACES)("a process killed", ({ name, missing, open }) => {
  describeWith(missing, `with an archive in ${name}`, () => {
    const kept = keptWorldOfEachTest(open);
    const { world } = kept;

    /** Does the work in a process that dies before a step of it. False = the work has fewer steps. */
    async function killBefore(step: number, work: Work): Promise<boolean> {
      const { location, keys } = kept.place();
      const settings = JSON.stringify({ work, url: world.url, location, keys, diesBefore: step });
      const child = spawn(process.execPath, [program("doomed-keeper"), settings], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      const [code, signal] = await once(child, "exit");
      expect(signal ?? code).toBeOneOf(["SIGKILL", 0]);
      const connections =
        "select 1 from pg_stat_activity where application_name = 'doomed-keeper' and datname = current_database()";
      await expect.poll(() => world.db.query(connections), { interval: 5 }).toEqual([]);
      return signal !== null;
    }

    test.each(Object.keys(WORKS) as Work[])(
      "before any step that leaves something behind loses and doubles no event, and the next one ends the work: %s",
      async (work) => {
        const before: Record<string, unknown> = {};
        const ends: Record<string, string> = {};
        const begin = async (source: string) => {
          const events = await kept.park(source, work === "expiry");
          Object.assign(before, await kept.rows());
          await kept.begin[work](source);
          for (const event of events) {
            const end = ENDS[work](event);
            if (end !== null) ends[event.eventId] = end;
          }
        };
        for (let [step, killed] = [1, true]; killed; step++) {
          await begin(`step-${step}`);
          killed = await killBefore(step, work);
          const places = await kept.places();
          expect(Object.keys(places), `killed before step ${step}`).toEqual(expect.arrayContaining(Object.keys(ends)));
          expect(["archive", "store"]).toEqual(expect.arrayContaining(Object.values(places)));
          expect(await kept.faults({ source: `step-${step}` })).toEqual([]);
          await WORKS[work](kept.deps());
          expect(await kept.places(), `killed before step ${step}`).toEqual(ends);
        }
        await begin("of-a-worker");
        await killBefore(2, work);
        // A person restores, and no worker.
        if (work === "restore") await WORKS.restore(kept.deps());
        const worker = await world.worker();
        await expect.poll(kept.places, { interval: 20 }).toEqual(ends);
        await worker.stop("it has done the work");
        expect(await kept.faults()).toEqual([]);
        if (work === "forget") await kept.expectForgotten("hers");
        await WORKS.restore(kept.deps());
        const after = await kept.rows();
        expect(Object.keys(after).toSorted()).toEqual(Object.keys(ends).toSorted());
        for (const [eventId, row] of Object.entries(after)) expect(row).toEqual(before[eventId]);
      },
    );
  });
});
