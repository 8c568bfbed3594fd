import { afterEach, expect, test } from "vitest";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readDifferences } from "@/lib/observe/stats/differences.read";
import { readTopErrors } from "@/lib/observe/stats/top-errors.read";
import { statsQueryFrom } from "@/lib/selection/stats-query.shapes";
import { GROUP_ARRIVALS, GROUP_FLOW } from "@/lib/states/flow-tables.sql";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
// The flow is written here without its events: nothing else may count on it.
afterEach(() =>
  world.db.run(`truncate ${[...GROUP_FLOW, ...GROUP_ARRIVALS].map(({ table }) => table).join(", ")}, dlq_flow_hours`),
);

const ADA = localViewer("ada");
const CLERK: Viewer = { name: "clerk", means: "session", sources: ["billing"], actions: "all" };
const HOUR_MS = 3_600_000;

/** Arrivals of a group of the source orders, so many hours ago. */
async function arrived(fingerprint: string, hoursAgo: number, parked: number): Promise<void> {
  for (const { table, widthMs } of [...GROUP_FLOW, ...GROUP_ARRIVALS]) {
    const at = `date_bin('${widthMs / 1000} s', now() - make_interval(hours => $2), 'epoch')`;
    const [keys, values] = table.includes("arrival") ? ["", ""] : ["source_id, error_code, ", "id, 'TIMEOUT', "];
    await world.db.run(
      `insert into ${table} as t (at, ${keys}fingerprint, parked) select ${at}, ${values}$1, $3 from sources where name = 'orders'
       on conflict (at, ${keys}fingerprint) do update set parked = t.parked + excluded.parked`,
      [fingerprint, hoursAgo, parked],
    );
  }
}

/** The flow is known since then. */
async function knownSince(hoursAgo: number): Promise<void> {
  await world.db.run(
    `insert into dlq_flow_hours (at, source_id, error_code, parked)
     select date_trunc('hour', now() - make_interval(hours => $1), 'UTC'), id, 'TIMEOUT', 1 from sources where name = 'orders'`,
    [hoursAgo],
  );
}

async function group(fingerprint: string, hoursAgo: number): Promise<void> {
  await world.db.run(
    `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
     values ($1, 'TIMEOUT', 'stock timed out', gen_random_uuid(), now() - make_interval(hours => $2), now())`,
    [fingerprint, hoursAgo],
  );
}

test("each group that differs is one row, with its verdict, both numbers and its source", async () => {
  await world.source("billing");
  await knownSince(24 * 20);
  for (const [fingerprint, before, now] of [
    ["fresh", 0, 4],
    ["risen", 10, 400],
    ["over", 10, 300],
    ["fallen", 400, 10],
    ["returned", 0, 90],
    ["vanished", 90, 0],
    ["steady", 100, 104],
  ] as const) {
    await group(fingerprint, 24 * 10);
    if (fingerprint === "risen") await arrived(fingerprint, 0, 40);
    if (before > 0) for (let day = 1; day < 10; day++) await arrived(fingerprint, 2 + 24 * day, before);
    if (now > 0) await arrived(fingerprint, 2, now);
  }
  await arrived("returned", 2 + 24 * 9, 90);
  const read = (viewer: Viewer, source: string | null = null) =>
    readDifferences(world.db, viewer, { against: "day", source }, Date.now());
  const { items, more } = await read(ADA);
  expect(items.map(({ verdict, fingerprint, before, now }) => [verdict, fingerprint, before, now])).toEqual([
    ["new", "fresh", 0, 4],
    ["back", "returned", 0, 90],
    ["rising", "risen", 10, 440],
    ["falling", "fallen", 400, 10],
    ["falling", "over", 10, 300],
    ["gone", "vanished", 90, 0],
  ]);
  expect(more).toBe(0);
  expect(items[2]).toMatchObject({ sources: ["orders"], errorCode: "TIMEOUT", factor: 44, usual: 10 });
  expect((await read(ADA, "billing")).items).toEqual([]);
  expect((await read(CLERK)).items).toEqual([]);
});

test("says of no group what the overview does not say of the same window", async () => {
  await group("busy", 1_000);
  await knownSince(24 * 20);
  // As much as on each of the days before; a day ago a quiet day.
  for (let day = 0; day < 9; day++) await arrived("busy", 2 + 24 * day, day === 1 ? 5 : 100);
  const nowMs = Date.now();
  const { items } = await readDifferences(world.db, ADA, { against: "day", source: null }, nowMs);
  const from = new Date(nowMs - 24 * HOUR_MS).toISOString();
  const top = await readTopErrors(
    world.db,
    ADA,
    statsQueryFrom(new URLSearchParams({ from }), nowMs, ["source", "errorCode", "status"]),
    nowMs,
  );
  expect(top.counts === "arrived" && top.groups[0]).toMatchObject({ fingerprint: "busy", count: 100, trend: "usual" });
  expect(items).toEqual([]);
});
