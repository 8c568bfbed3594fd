import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Deps } from "@/app/_server/deps";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import type { Selection } from "@/lib/events/selection/selection.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db } from "@/lib/platform/database/db";
import { countMend, previewMend } from "@/lib/repair/mends/preview-mend";
import { requestMend } from "@/lib/repair/mends/request-mend";
import { mendCountRequestSchema, mendPreviewSchema, type Recipe } from "@/lib/repair/recipes/recipes.shapes";
import { benchDeps } from "./deps";
import { mb, timed } from "./figures";
import type { Sample } from "./mend-worker";
import { parkMany } from "./park-many";
import { forkScript } from "./processes";
import { startBenchStack } from "./stack";

/**
 * A recipe over events of 1 kB: the first page of its preview, all its counts, and a mend whose worker is killed with -9
 * half-way. Against what the same run takes for JSON.parse and JSON.stringify of the same payloads, and for an UPDATE of
 * the same payloads in a table without anything else, in transactions of the same size. Memory is what the second worker
 * holds after a collection, at its least: early and late in its work. A quick run is too short to say it.
 *
 * BENCH_EVENTS (100,000) makes a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 100_000);
const CHUNK = 1_000;
/** `leakBytes`: of one event, live after a collection. A worker that kept the id and a place of each would have 100. */
const AIMS = { pageMs: 200, countMs: 10_000, applyMs: 30_000, leakBytes: 50 };
const VIEWER = localViewer("bench");
const RECIPES: Record<string, Recipe> = {
  form: {
    kind: "form",
    steps: [
      { op: "rename", at: "/custId", to: "customerId" },
      { op: "convert", at: "/total", to: "number", when: { at: "/total", type: "string" } },
    ],
  },
  "json-patch": { kind: "json-patch", patch: [{ op: "replace", path: "/customer/tier", value: "gold" }] },
};

/** A thousand bytes, with a number beyond 2^53. */
const PAYLOAD = `format('{"custId": 90071992547%s, "total": "12.50", "customer": {"name": "n", "tier": "silver"}, "lines": [%s], "note": "%s"}',
  lpad((row_number() over ())::text, 9, '0'),
  (select string_agg(format('{"sku": "sku-%s", "quantity": %s, "price": 9.90}', n, n), ', ') from generate_series(1, 8) n),
  repeat('x', 470))`;

export async function run() {
  const stack = await startBenchStack();
  const deps = benchDeps(stack.databaseUrl);
  const { db } = deps;
  const select = { filter: { source: ["orders"] } };
  try {
    await parkMany(db, { source: "orders", events: EVENTS, redriveUrl: "http://127.0.0.1:9" });
    await db.run(
      `update dlq_event_bodies b set payload = convert_to(w.text, 'utf8')
         from (select id, ${PAYLOAD} as text from dlq_event_bodies) w where w.id = b.id`,
    );
    await db.run(
      "update dlq_event_facts f set payload_bytes = octet_length(b.payload) from dlq_event_bodies b where b.id = f.id",
    );
    await db.run("vacuum analyze dlq_event_bodies, dlq_event_facts");
    const [{ bytes }] = (await db.query<{ bytes: number }>(
      "select avg(octet_length(payload))::int as bytes from dlq_event_bodies",
    )) as [{ bytes: number }];
    console.log(`mend ${EVENTS} events of ${bytes} bytes`);

    const bareMs = await bareLoop(db);
    const previews: Record<string, { pageMs: number; countMs: number; countRatio: number }> = {};
    for (const [name, recipe] of Object.entries(RECIPES)) {
      const page = mendPreviewSchema.parse({ select, recipe, limit: 50 });
      // Plans and threads are there in a server that runs.
      await previewMend(deps, page, VIEWER);
      const pageMs = await timed(() => previewMend(deps, page, VIEWER));
      const before = process.memoryUsage.rss();
      const countMs = await timed(() => countAll(deps, select, recipe));
      previews[name] = { pageMs, countMs, countRatio: countMs / bareMs };
      console.log(
        `mend ${name.padEnd(11)} first page ${pageMs.toFixed(0)} ms (aim <= ${AIMS.pageMs}); counts ${(countMs / 1000).toFixed(1)} s ` +
          `(aim <= ${AIMS.countMs / 1000}), ${(countMs / bareMs).toFixed(1)} times a bare read, parse and stringify (${(bareMs / 1000).toFixed(1)} s); RSS +${mb(process.memoryUsage.rss() - before)}`,
      );
    }
    const updateMs = await bareUpdate(db);
    const apply = await applied(deps, stack.databaseUrl, select);
    console.log(
      `mend apply ${(apply.ms / 1000).toFixed(1)} s with one kill -9 (aim <= ${AIMS.applyMs / 1000}), request ${apply.requestMs.toFixed(0)} ms; ` +
        `${(apply.ms / updateMs).toFixed(1)} times an UPDATE of the payloads alone (${(updateMs / 1000).toFixed(1)} s); worker holds ${mb(apply.liveBytes)}, ${apply.leakBytes.toFixed(0)} bytes more for each event (aim < ${AIMS.leakBytes}); its RSS ${mb(apply.rssFirstBytes)} early, ${mb(apply.rssLastBytes)} late`,
    );
    const withinBounds =
      Object.values(previews).every(({ pageMs, countMs }) => pageMs <= AIMS.pageMs && countMs <= AIMS.countMs) &&
      apply.ms <= AIMS.applyMs &&
      apply.leakBytes < AIMS.leakBytes;
    return { events: EVENTS, bytes, previews, bareMs, apply, updateMs, withinBounds };
  } finally {
    await deps.close();
    await stack.stop();
  }
}

async function countAll(deps: Deps, select: object, recipe: Recipe): Promise<void> {
  for (let cursor: string | undefined; ; ) {
    const counts = await countMend(deps, mendCountRequestSchema.parse({ select, recipe, cursor }), VIEWER);
    if (counts.nextCursor === null) {
      if (counts.changed !== EVENTS) throw new Error(`counted ${JSON.stringify(counts)}`);
      return;
    }
    cursor = counts.nextCursor;
  }
}

/** Reads all payloads in chunks, parses and stringifies them. */
async function bareLoop(db: Db): Promise<number> {
  return timed(async () => {
    for (let after = "00000000-0000-0000-0000-000000000000"; ; ) {
      const rows = await db.query<{ id: string; payload: Buffer }>(
        `select id, payload from dlq_event_bodies where id > $1 order by id limit ${CHUNK}`,
        [after],
      );
      if (rows.length === 0) return;
      for (const { payload } of rows) Buffer.from(JSON.stringify(JSON.parse(payload.toString())));
      after = rows.at(-1)!.id;
    }
  });
}

async function bareUpdate(db: Db): Promise<number> {
  await db.run(
    "create table bare_bodies as select row_number() over (order by id) as n, id, payload from dlq_event_bodies",
  );
  await db.run("create unique index on bare_bodies (n)");
  await db.run("vacuum analyze bare_bodies");
  return timed(async () => {
    for (let from = 0; from < EVENTS; from += CHUNK) {
      await db.run(
        `update bare_bodies set payload = convert_to(replace(convert_from(payload, 'utf8'), '"custId"', '"customerId"'), 'utf8')
          where n > $1 and n <= $2`,
        [from, from + CHUNK],
      );
    }
  });
}

/** From the request to the end; the first worker is killed when it has done a third. */
async function applied(deps: Deps, url: string, select: Selection) {
  const request = { select, recipe: RECIPES.form!, reason: "bench", breaking: false, idempotency: null };
  const started = performance.now();
  const { id } = await requestMend(deps, request, VIEWER);
  const requestMs = performance.now() - started;
  const worker = () => forkScript("./mend-worker.ts", { args: [url, id!], flags: ["--expose-gc"] });
  const killed = worker();
  const operation = async () => (await readBulkOperation(deps.db, VIEWER, id!))!;
  while ((await operation()).changed < EVENTS / 3) await sleep(20);
  killed.kill("SIGKILL");
  await once(killed, "exit");
  const left = EVENTS - (await operation()).changed;
  const second = worker();
  const [memory] = (await once(second, "message")) as [[Sample, Sample]];
  const ms = performance.now() - started;
  await once(second, "exit");
  const { changed, state } = await operation();
  const [row] = await deps.db.query<{ n: number }>("select count(*)::int as n from event_revisions");
  if (state !== "DONE" || changed !== EVENTS || row!.n !== EVENTS) throw new Error(`mended ${changed} of ${EVENTS}`);
  const [first, last] = memory;
  // From the middle of the one part of its work to the middle of the other.
  const leakBytes = (last.liveBytes - first.liveBytes) / (left * 0.6);
  return {
    ms,
    requestMs,
    liveBytes: last.liveBytes,
    leakBytes,
    rssFirstBytes: first.rssBytes,
    rssLastBytes: last.rssBytes,
  };
}
