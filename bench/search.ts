import pg from "pg";
import { setDeps } from "@/app/_server/deps";
import { createDb } from "@/lib/platform/database/db";
import { benchDeps } from "./deps";
import { cpuMsOfAll, mean } from "./figures";
import { list, listReadings, pick } from "./lists";
import { loadOf, recording } from "./load";
import { inTurns, scenario } from "./scenario";
import { startBenchStack } from "./stack";
import { CODES, fillStore } from "./store";

/**
 * The list API over a million events: p95 for each filter, for common pairs, and at depth; and its requests a second
 * against the same SQL sent through `pg` alone. The API is the route's own handler, with parsing, cursor and JSON.
 *
 * PARKADE_BENCH_EVENTS (1,000,000), BENCH_REQUESTS (400 a case) and BENCH_SECONDS (8) make a quick run.
 */

const SIZE = { events: Number(process.env.PARKADE_BENCH_EVENTS ?? 1_000_000), days: 30 };
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 400);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const TURNS = 3;
const CALLERS = 4;

export const run = scenario({
  name: "search",
  open: async (atEnd) => {
    const stack = await startBenchStack();
    atEnd(stack.stop);
    const filler = createDb(stack.databaseUrl, { max: 3 });
    atEnd(filler.end);
    const deps = benchDeps(stack.databaseUrl);
    atEnd(deps.close);
    setDeps(deps);
    atEnd(() => setDeps(null));
    // The same plans as the console has: the ratio measures the layers above them.
    const onConnect = (client: pg.ClientBase) => client.query("set plan_cache_mode = force_generic_plan");
    const pool = new pg.Pool({ connectionString: stack.databaseUrl, max: 10, ...{ onConnect } });
    // The server may end an idle connection before its close arrives.
    pool.on("error", () => undefined);
    atEnd(() => pool.end());
    return { filler, lists: deps.lists, pool };
  },
  fill: ({ filler }) => fillStore(filler, SIZE),
  async *measure({ lists, pool }) {
    yield* listReadings(SIZE, REQUESTS);
    const query = (n: number) => `errorCode=${pick(CODES, n)}&status=PENDING`;
    const { sent, stop } = recording([lists]);
    await list(query(0));
    stop();
    const plain = async (n: number) => {
      for (const { name, text, values } of sent) {
        const own = values.map((value) => (Array.isArray(value) && value[0] === CODES[0] ? [pick(CODES, n)] : value));
        await pool.query({ name, text, values: own });
      }
    };
    const load = { callers: CALLERS, seconds: SECONDS / TURNS, cpuMs: cpuMsOfAll };
    const { api, bare } = await inTurns(
      { turns: TURNS },
      {
        api: () => loadOf(load, (_, n) => list(query(n))),
        bare: () => loadOf(load, (_, n) => plain(n)),
      },
    );
    yield {
      name: "a list by code and state",
      value: mean(api, "perSecond"),
      unit: "requests/s",
      baseline: { name: "of the same SQL through pg alone", value: mean(bare, "perSecond"), bound: { min: 0.8 } },
    };
    // On a machine that does nothing else its inverse is what the ratio above can be.
    yield {
      name: "processor time of a list",
      value: mean(api, "cpuUs"),
      unit: "us with PostgreSQL's",
      baseline: { name: "of the same SQL through pg alone", value: mean(bare, "cpuUs") },
    };
  },
});
