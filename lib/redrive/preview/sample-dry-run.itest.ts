import { afterAll, beforeEach, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { writeHeartbeat } from "@/lib/observe/health/heartbeat.write";
import { systemClock } from "@/lib/platform/clock";
import { uuidv7 } from "@/lib/platform/ids";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import type { PreviewRequest } from "@/lib/redrive/preview/redrive-preview.shapes";
import { type SampleDeps, sampleFrozen } from "@/lib/redrive/preview/sample-dry-run";
import { createPayloadChecker } from "@/lib/sources/schemas/check-payload";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

let owner: Awaited<ReturnType<SampleDeps["askOwner"]>> = null;
let reachable: Awaited<ReturnType<SampleDeps["probe"]>>;

const world = worldOfEachTest({ invariants: false });

beforeEach(async () => {
  reachable = { reachable: true, detail: "answers" };
});

const schemas = createSchemaCheck(systemClock);
afterAll(() => schemas.close());
const checkPayloads = createPayloadChecker(schemas, systemClock);
const sample: Pick<SampleDeps, "checkPayloads" | "askOwner" | "probe" | "leftOut"> = {
  checkPayloads,
  askOwner: async () => owner,
  probe: async () => reachable,
  leftOut: async (_, messages) => messages.map(({ headers }) => headers.map(([name]) => JSON.stringify(name))),
};
const preview = (change: Partial<PreviewRequest> = {}) =>
  previewRedrive(
    { ...world.deps, sample },
    { select: { filter: {} }, mode: "deliver", lane: "main", ...change },
    localViewer("ada"),
  );
const payload = (body: unknown) => Buffer.from(JSON.stringify(body));
const OPEN = { breaker: { state: "open", forced: false, waitMs: 40_000 } };
const NEEDS_AMOUNT = { type: "object", required: ["amount"] };

test("a preview says how many of those it checked the dry run would refuse, and why", async () => {
  await world.source("billing", { schema: NEEDS_AMOUNT });
  await world.park(12, (index) => ({ payload: payload(index < 9 ? {} : { amount: 1 }) }), "billing");
  const answer = await preview();
  expect(answer).toMatchObject({
    total: 12,
    eligible: 3,
    refused: { "schema-mismatch": 9 },
    sources: { billing: { eligible: 3 } },
  });
  expect(answer.sample!.samples).toHaveLength(5);
  expect(answer.sample!.samples[0]).toMatchObject({
    refusal: "schema-mismatch",
    findings: [{ check: "payload-schema", ok: false, pointer: "", fix: expect.stringContaining('"amount"') }],
  });
  expect(answer.sample).toMatchObject({
    whole: true,
    checked: 12,
    wouldGo: 3,
    refused: { "schema-mismatch": 9 },
    targets: [{ name: "billing", reachable: true, detail: "answers", breaker: "closed", breakerUntil: null }],
  });
  // Without being asked for it examines nothing.
  expect((await preview({ sample: false })).sample).toBeNull();
});

test("a preview asks the owner of the target, and says so when nobody answers", async () => {
  await world.park(2);
  const refusal = { take: false, reason: "no such order", pointer: "/orderId" } as const;
  owner = { answers: [refusal, { unanswered: "cannot reach it" }], refusesUnanswered: false };
  const { sample } = await preview();
  owner = { ...owner, refusesUnanswered: true };
  const strict = await preview();
  owner = null;
  expect(sample).toMatchObject({ checked: 2, wouldGo: 1, refused: { "check-refused": 1 } });
  expect(sample!.samples[0]!.findings).toContainEqual(
    expect.objectContaining({
      check: "check-call",
      ok: false,
      pointer: "/orderId",
      detail: expect.stringContaining("no such order"),
    }),
  );
  expect(strict.sample!.refused).toEqual({ "check-refused": 1, "check-unanswered": 1 });
});

test("it names a target that is away, a breaker that is held open, and what a control refuses is not sampled", async () => {
  await world.park(3);
  await world.db.run("update targets set breaker_force = 'open' where name = 'orders'");
  reachable = { reachable: false, detail: "ECONNREFUSED" };
  await world.db.run("update dlq_events set status = 'IGNORED' where event_id = 'event-0000'");
  expect(await preview()).toMatchObject({
    total: 3,
    refused: { ignored: 1 },
    sample: {
      checked: 2,
      wouldGo: 0,
      refused: { "target-unreachable": 2 },
      targets: [{ name: "orders", reachable: false, detail: "ECONNREFUSED", breaker: "held-open" }],
    },
  });
  reachable = null;
  expect((await preview()).sample).toMatchObject({ refused: { "breaker-open": 2 }, targets: [{ reachable: null }] });

  // One that heals by itself refuses nothing, and is named with its time.
  await world.db.run("update targets set breaker_force = null");
  reachable = { reachable: true, detail: "answers" };
  await writeHeartbeat(world.db, {
    id: uuidv7(Date.now()),
    startedAtMs: Date.now(),
    info: { running: 1, targets: { orders: OPEN } as never, bucket: "shared" },
  });
  const { sample } = await preview();
  expect(sample).toMatchObject({ checked: 2, wouldGo: 2, targets: [{ name: "orders", breaker: "open" }] });
  expect(Date.parse(sample!.targets[0]!.breakerUntil!)).toBeGreaterThan(Date.now());
});

test("who approves a redrive sees the dry run of what it has frozen", async () => {
  await world.source("billing", { schema: NEEDS_AMOUNT });
  const versions = (index: number) => ({ aggregateId: "order-7", version: BigInt(index + 1) });
  await world.park(
    3,
    (index) => ({ ...versions(index), payload: payload(index === 1 ? {} : { amount: 1 }) }),
    "billing",
  );
  const { id } = await world.request({ startAt: new Date(Date.now() + 3_600_000).toISOString() });
  expect(await sampleFrozen({ ...world.deps, ...sample }, id, localViewer("jonas"))).toMatchObject({
    whole: true,
    checked: 3,
    wouldGo: 1,
    refused: { "schema-mismatch": 1, "held-by-head": 1 },
    samples: [{ version: 2, refusal: "schema-mismatch" }, { version: 3 }],
  });
});

test("a payload that does not parse goes once it is confirmed, in a preview and in what is approved", async () => {
  await world.source("billing", { schema: NEEDS_AMOUNT });
  await world.park(
    2,
    (index) => ({ headers: [], payload: Buffer.from(index === 0 ? "{NaN" : '{"amount":1}') }),
    "billing",
  );
  expect(await preview()).toMatchObject({
    eligible: 1,
    refused: { "payload-unparsable": 1 },
    sample: { refused: { "payload-unparsable": 1 }, warnings: [] },
  });
  const despite = ["payload-unparsable"] as const;
  const confirmed = { refused: {}, warnings: [{ check: "payload-parses", events: 1 }] };
  expect(await preview({ despite: [...despite] })).toMatchObject({ eligible: 2, refused: {}, sample: confirmed });
  const { id } = await world.request({
    startAt: new Date(Date.now() + 3_600_000).toISOString(),
    despite: [...despite],
  });
  expect(await sampleFrozen({ ...world.deps, ...sample }, id, localViewer("jonas"))).toMatchObject(confirmed);
});

test("a preview names the headers that are left out, with the number of events", async () => {
  await world.source("billing");
  await world.park(3, (index) => ({ headers: index < 2 ? [["my header", "v"]] : [] }), "billing");
  expect((await preview()).sample!.warnings).toEqual([
    { check: "headers", events: 2, detail: expect.stringContaining('cannot carry the header "my header"') },
  ]);
});

test("targets, owners and schemas are asked with no transaction open, in a preview and for an approval", async () => {
  await world.source("billing", { schema: NEEDS_AMOUNT });
  await world.park(2, () => ({ payload: payload({ amount: 1 }) }), "billing");
  const open: string[] = [];
  const asked = async <Answer>(what: string, answer: Answer): Promise<Answer> => {
    const [row] = await world.db.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and state like 'idle in%'`,
    );
    open.push(`${what} ${row!.n}`);
    return answer;
  };
  const watched: typeof sample = {
    checkPayloads: {
      ...checkPayloads,
      inForce: async (...args) => asked("schema", await checkPayloads.inForce(...args)),
    },
    askOwner: () => asked("owner", owner),
    probe: () => asked("target", reachable),
    leftOut: (row, messages) => sample.leftOut(row, messages),
  };
  const viewer = localViewer("jonas");
  const { id } = await world.request({ startAt: new Date(Date.now() + 3_600_000).toISOString() });
  await sampleFrozen({ ...world.deps, ...watched }, id, viewer);
  await world.park(4, () => ({ payload: payload({ amount: 1 }) }), "billing");
  await previewRedrive(
    { ...world.deps, sample: watched },
    { select: { filter: {} }, mode: "deliver", lane: "main" },
    viewer,
  );
  expect([...new Set(open)].sort()).toEqual(["owner 0", "schema 0", "target 0"]);
});
