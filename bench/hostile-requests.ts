import { setTimeout as sleep } from "node:timers/promises";
import type { HostileFigure, Web } from "./hostile";

/**
 * Requests that make web or its helpers work for long, and what another person waits beside them: their own preview of a
 * patch over three small events, and their first page of events, again and again. Each is sent alone; the base is the
 * same person's worst wait while nobody else asks.
 */
export type Beside = HostileFigure & { neighbourMs: number };

const NEIGHBOUR_MS_MAX = 5_000;
/** One event of 700 kB is parsed and compared in one go; the event loop has its turn between two events. */
const BLOCK_MS_MAX = 250;
const LARGE_EVENTS = 40;
const ALONE_MS = 3_000;

const preview = (source: string, recipe: object, limit = 20) => ({
  path: "/api/v1/events/mend/preview",
  body: { select: { filter: { source: [source] } }, recipe, limit },
});
const count = (source: string, recipe: object) => ({
  path: "/api/v1/events/mend/count",
  body: { select: { filter: { source: [source] } }, recipe },
});
const add = (path: string, value: unknown) => ({ kind: "json-patch", patch: [{ op: "add", path, value }] });
const HONEST = preview("neighbour", add("/seen", true));

type Request = { path: string; body: object };
type Case = { name: string; requests: Request[]; leaveMs?: number };

const SLOW_SCHEMA = { properties: { text: { pattern: "^(a+)+$" } } };
const CASES: Case[] = [
  {
    name: "preview of a patch 2,000 deep",
    requests: [preview("small", add("/a", JSON.parse(`${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`)))],
  },
  ...Object.entries({
    "json-patch": { kind: "json-patch", patch: [{ op: "remove", path: "/lines" }] },
    form: { kind: "form", steps: [{ op: "rename", at: "/lines", to: "rows" }] },
  }).flatMap(([kind, recipe]): Case[] => [
    { name: `count over 40 of 700 kB: ${kind}`, requests: [count("large", recipe)] },
    { name: `preview over 40 of 700 kB: ${kind}`, requests: [preview("large", recipe, 40)] },
    { name: `the same, left after 0.1 s: ${kind}`, requests: [preview("large", recipe, 40)], leaveMs: 100 },
  ]),
  {
    name: "schema check with a slow pattern",
    requests: [{ path: "/api/v1/sources/small/schemas/try", body: { eventType: null, schema: SLOW_SCHEMA } }],
  },
];

/** Parks what the cases are about, and sends one after the other. `met`: nobody waited longer than the bound. */
export async function besideHostileRequests(web: Web): Promise<{ figures: Beside[]; met: boolean }> {
  for (const name of ["neighbour", "small", "large"]) {
    await send(web.url, { path: "/api/v1/sources", body: { name, kind: "http", config: {} } });
  }
  const lines = Array.from({ length: 9_000 }, (_, n) => ({
    sku: `sku-${n}`,
    quantity: n,
    price: 9.9,
    note: "a line of it",
  }));
  const park = (source: string, events: number, payload: object) =>
    send(web.url, {
      path: "/api/v1/events",
      body: Array.from({ length: events }, (_, n) => ({
        source,
        eventId: `${n}`,
        errorCode: "X",
        payload: { n, ...payload },
      })),
    });
  const parked = [await park("neighbour", 3, {}), await park("small", 200, { text: `${"a".repeat(28)}!` })];
  parked.push(await park("large", LARGE_EVENTS, { lines }));
  if (parked.some((status) => status >= 300))
    throw new Error(`events of the bench were not parked: ${parked.join(", ")}`);
  await send(web.url, HONEST);
  const alone = await measureBeside(web, "nobody else", () => sleep(ALONE_MS, 0));
  print(alone, alone);
  const figures = [alone];
  for (const { name, requests, leaveMs } of CASES) {
    const figure = await measureBeside(web, name, async () => {
      const statuses = await Promise.all(requests.map((one) => send(web.url, one, { leaveMs })));
      // What goes on without its client would be seen here.
      if (leaveMs !== undefined) await sleep(ALONE_MS);
      return Math.max(...statuses);
    });
    figures.push(figure);
    print(figure, alone);
  }
  const over = figures.filter(
    ({ neighbourMs, blockMs, status }) => neighbourMs > NEIGHBOUR_MS_MAX || blockMs > BLOCK_MS_MAX || status >= 500,
  );
  for (const { name, neighbourMs, blockMs, status } of over)
    console.log(`hostile  MISSED by ${name}: ${status}, another waited ${neighbourMs} ms, block ${blockMs} ms`);
  return { figures, met: over.length === 0 };
}

async function measureBeside(web: Web, name: string, work: () => Promise<number>): Promise<Beside> {
  let over = false;
  let neighbourMs = 0;
  const neighbour = async (ask: () => Promise<number>) => {
    while (!over) {
      const startedMs = performance.now();
      const status = await ask();
      if (status !== 200) throw new Error(`the neighbour of "${name}" was answered ${status}`);
      neighbourMs = Math.max(neighbourMs, Math.round(performance.now() - startedMs));
      await sleep(20);
    }
  };
  const neighbours = [
    neighbour(() => send(web.url, HONEST, { actor: "bob" })),
    neighbour(async () => (await fetch(`${web.url}/api/v1/events?limit=50`)).status),
  ];
  const figure = await web.measure(name, work);
  over = true;
  await Promise.all(neighbours);
  return { ...figure, neighbourMs };
}

function print({ name, status, ms, blockMs, rssMb, neighbourMs }: Beside, alone: Beside): void {
  console.log(
    `hostile  ${name.padEnd(40)} ${String(status).padStart(3)}  ${String(ms).padStart(6)} ms  block ${String(blockMs).padStart(4)}  ` +
      `another waited ${neighbourMs} ms (${(neighbourMs / alone.neighbourMs).toFixed(1)}x)  RSS ${rssMb} MB`,
  );
}

type Sender = { actor?: string; leaveMs?: number | undefined };

/** Status of the answer; 0 = the client left after `leaveMs`. */
async function send(url: string, { path, body }: Request, { actor = "ada", leaveMs }: Sender = {}): Promise<number> {
  const signal = leaveMs === undefined ? null : AbortSignal.timeout(leaveMs);
  try {
    const headers = { "content-type": "application/json", "x-actor": actor };
    const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body), signal });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    if (signal?.aborted) return 0;
    throw error;
  }
}
