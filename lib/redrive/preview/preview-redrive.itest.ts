import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { PLANNED_MAX } from "@/lib/redrive/plan/plan-selection";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import type { RedriveRequest } from "@/lib/redrive/request/redrive-request.shapes";
import { createPayloadChecker } from "@/lib/sources/schemas/check-payload";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";
import { addTarget } from "@/lib/sources/targets/add-target";
import { mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";

let world: World;
const schemas = createSchemaCheck(systemClock);
const checkPayloads = createPayloadChecker(schemas, systemClock);

beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
  await world.worker();
});
afterAll(async () => {
  await world.close();
  await schemas.close();
});

type Parked = Partial<DeadLetter> | null;
type Situation = {
  /** What is parked in the source of the situation, as `event-0000` and so on. */
  events: Parked[];
  schema?: object;
  /** SQL over `$1`, the id of the source. */
  facts?: string[];
  /** Numbers of the selected events; absent = all. */
  select?: number[];
  request?: Partial<RedriveRequest>;
  /** Done before the preview. */
  before?: (source: string, ids: string[]) => Promise<unknown>;
  goes: number;
  refused: Record<string, number>;
};

const version = (of: number, aggregateId = "order-7"): Partial<DeadLetter> => ({ aggregateId, version: BigInt(of) });
const unversioned = (aggregateId = "order-7"): Partial<DeadLetter> => ({ aggregateId, version: null });
const times = <Item>(count: number, item: (index: number) => Item) => Array.from({ length: count }, (_, i) => item(i));
const cooling = (number: number) =>
  `update dlq_events set cooldown_until = now() + interval '15 minutes', failures = 1
    where source_id = $1 and event_id = 'event-000${number}'`;
const ignored = (number: number) =>
  `update dlq_events set status = 'IGNORED' where source_id = $1 and event_id = 'event-000${number}'`;
const control = (kind: string, scope: string, value: string) =>
  `insert into controls (id, kind, scope, source, value, reason, created_by)
   select gen_random_uuid(), '${kind}', '${scope}', s.name, '${value}', 'test', 'ada' from sources s where s.id = $1`;

/** Parkade's blacklist of the aggregate, which has failed too often. */
const automatic = (value: string) =>
  `insert into controls (id, kind, scope, source, aggregate_type, value, reason, origin, created_by)
   select gen_random_uuid(), 'blacklist', 'aggregateId', s.name, 'order', '${value}', 'test', 'automatic', 'worker'
     from sources s where s.id = $1`;

const VERSION_1_PROCESSED = `insert into processed_events (event_id, source_id, consumer, aggregate_type, aggregate_id, version)
  values ('other', $1, 'stock', 'order', 'order-7', 1)`;

const payload = (body: unknown) => ({ payload: Buffer.from(JSON.stringify(body)) });
const NEEDS_AMOUNT = { type: "object", required: ["amount"] };

const SITUATIONS: Record<string, Situation> = {
  "a cooling head in the selection, with versions": {
    events: times(4, (index) => version(index + 1)),
    facts: [cooling(0)],
    goes: 0,
    refused: { cooling: 1, "held-by-head": 3 },
  },
  "a cooling head in the selection, without versions": {
    events: [...times(10, () => unversioned()), unversioned("order-8")],
    facts: [cooling(0)],
    goes: 1,
    refused: { cooling: 1, "held-by-head": 9 },
  },
  "a cooling event in the middle of an aggregate without versions": {
    events: times(5, () => unversioned()),
    facts: [cooling(2)],
    goes: 2,
    refused: { cooling: 1, "held-by-head": 2 },
  },
  "a cooling event outside of the selection, without versions": {
    events: times(4, () => unversioned()),
    facts: [cooling(1)],
    select: [0, 2, 3],
    goes: 1,
    refused: { "held-by-head": 2 },
  },
  "a cooling head that a person has skipped": {
    events: times(3, () => unversioned()),
    facts: [
      cooling(0),
      `insert into skipped_heads (id, revision, bounces, reason, created_by, created_at)
       select id, revision, bounces, 'test', 'ada', now() from dlq_events where source_id = $1 and event_id = 'event-0000'`,
    ],
    goes: 2,
    refused: { cooling: 1 },
  },
  "a cooling version that its aggregate has passed": {
    events: times(3, (index) => version(index + 1)),
    facts: [cooling(0), VERSION_1_PROCESSED],
    goes: 2,
    refused: { cooling: 1 },
  },
  "a superseded cooling version outside of the selection": {
    events: [version(1), version(2), unversioned(), version(1, "order-8")],
    facts: [cooling(0), VERSION_1_PROCESSED],
    select: [1, 2, 3],
    goes: 3,
    refused: {},
  },
  "a superseded cooling version under a whitelist": {
    events: [version(0), version(2), version(3)],
    facts: [cooling(0), VERSION_1_PROCESSED, control("whitelist", "aggregateId", "order-7")],
    goes: 2,
    refused: { "version-superseded": 1 },
  },
  "a cooling head under a whitelist": {
    events: times(3, (index) => version(index + 1)),
    facts: [cooling(0), control("whitelist", "aggregateId", "order-7")],
    goes: 3,
    refused: {},
  },
  "a cooling event without a version under a whitelist": {
    events: times(3, () => unversioned()),
    facts: [cooling(0), control("whitelist", "aggregateId", "order-7")],
    goes: 3,
    refused: {},
  },
  "a head outside of the selection": {
    events: [...times(3, (index) => version(index + 1)), version(1, "order-8")],
    select: [1, 2, 3],
    goes: 1,
    refused: { "held-by-head": 2 },
  },
  "a head outside of the selection, taken along": {
    events: times(3, (index) => version(index + 1)),
    select: [2],
    request: { earlier: "include" },
    goes: 3,
    refused: {},
  },
  "an outside head, taken along, while another aggregate is further": {
    events: times(3, (index) => version(index + 1, "order-9")),
    facts: [VERSION_1_PROCESSED.replace("'order-7', 1", "'order-8', 9")],
    select: [2],
    request: { earlier: "include" },
    goes: 3,
    refused: {},
  },
  "a cooling head outside of the selection, taken along": {
    events: times(3, (index) => version(index + 1)),
    facts: [cooling(0)],
    select: [2],
    request: { earlier: "include" },
    goes: 0,
    refused: { cooling: 1, "held-by-head": 2 },
  },
  "a cooling event without a version that nothing takes along": {
    events: times(3, () => unversioned()),
    facts: [cooling(0)],
    select: [2],
    request: { earlier: "include" },
    goes: 0,
    refused: { "held-by-head": 1 },
  },
  "heads that are passed by": {
    events: [...times(3, (index) => version(index + 1)), ...times(2, () => unversioned("order-8"))],
    facts: [cooling(0), cooling(3)],
    request: { earlier: "pass" },
    goes: 3,
    refused: { cooling: 2 },
  },
  "an ignored head in the selection": {
    events: times(3, (index) => version(index + 1)),
    facts: [ignored(0)],
    select: [0, 1, 2],
    goes: 0,
    refused: { ignored: 1, "held-by-head": 2 },
  },
  "a blacklisted head in the selection": {
    events: times(3, (index) => version(index + 1)),
    facts: [control("blacklist", "eventId", "event-0000")],
    goes: 0,
    refused: { blacklisted: 1, "held-by-head": 2 },
  },
  "a head that admission asks about": {
    events: times(2, (index) => version(index + 1)),
    facts: ["update dlq_events set admission = 'confirm' where source_id = $1 and event_id = 'event-0000'"],
    goes: 0,
    refused: { "needs-confirmation": 1, "held-by-head": 1 },
  },
  "a head that admission asks about, sent despite it": {
    events: times(2, (index) => version(index + 1)),
    facts: ["update dlq_events set admission = 'confirm' where source_id = $1 and event_id = 'event-0000'"],
    request: { despite: ["needs-confirmation"] },
    goes: 2,
    refused: {},
  },
  "a version that a newer one has overtaken": {
    events: times(3, (index) => version(index + 1)),
    facts: [
      `insert into processed_events (event_id, source_id, consumer, aggregate_type, aggregate_id, version)
       values ('other', $1, 'stock', 'order', 'order-7', 2)`,
    ],
    goes: 2,
    refused: { "version-superseded": 1 },
  },
  "a head whose payload fails its schema": {
    events: [3, 4, 5, 6].map((of) => ({ ...version(of), ...payload(of === 3 ? {} : { amount: of }) })),
    schema: NEEDS_AMOUNT,
    goes: 0,
    refused: { "schema-mismatch": 1, "held-by-head": 3 },
  },
  "a head whose payload fails its schema, taken along": {
    events: [3, 4, 5, 6].map((of) => ({ ...version(of), ...payload(of === 3 ? {} : { amount: of }) })),
    schema: NEEDS_AMOUNT,
    select: [3],
    request: { earlier: "include" },
    goes: 0,
    refused: { "schema-mismatch": 1, "held-by-head": 3 },
  },
  "a version in the middle whose payload fails its schema": {
    events: [3, 4, 5, 6].map((of) => ({ ...version(of), ...payload(of === 5 ? {} : { amount: of }) })),
    schema: NEEDS_AMOUNT,
    goes: 2,
    refused: { "schema-mismatch": 1, "held-by-head": 1 },
  },
  "a payload without a version that fails its schema": {
    events: times(3, (index) => ({ ...unversioned(), ...payload(index === 0 ? {} : { amount: 1 }) })),
    schema: NEEDS_AMOUNT,
    goes: 2,
    refused: { "schema-mismatch": 1 },
  },
  "the last version in a redrive that starts later": {
    events: times(3, (index) => version(index + 1)),
    before: (_source, ids) =>
      world.request({
        select: { ids: [ids[2]!] },
        earlier: "pass",
        startAt: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    goes: 2,
    refused: { "already-queued": 1 },
  },
  "a head that fails its schema, to a named target": {
    events: [3, 4].map((of) => ({ ...version(of), ...payload(of === 3 ? {} : { amount: of }) })),
    schema: NEEDS_AMOUNT,
    before: (source) =>
      addTarget(
        world.deps,
        { source, request: { name: "audit", destination: { redriveUrl: world.sink.url }, reason: "test" } },
        localViewer("ada"),
      ),
    request: { target: "audit" },
    goes: 0,
    refused: { "schema-mismatch": 1, "held-by-head": 1 },
  },
  "cooling heads of more events than a request plans at once": {
    events: times(2_001, (index) =>
      index % 2 === 0 ? unversioned(`order-${index % 100}`) : version(index, `order-${index % 100}`),
    ),
    facts: [cooling(0), cooling(1)],
    goes: 1_960,
    refused: { cooling: 2, "held-by-head": 39 },
  },
};

const ask = async (change: Partial<RedriveRequest>) =>
  previewRedrive(
    {
      ...world.deps,
      sample: {
        checkPayloads,
        askOwner: async () => null,
        probe: async () => ({ reachable: true, detail: "answers" }),
        leftOut: async (_, messages) => messages.map(() => []),
      },
    },
    { select: { filter: {} }, mode: "deliver", lane: "main", ...change } as Parameters<typeof previewRedrive>[1],
    localViewer("ada"),
  );

/** What the preview says, what the dry run says, and what a redrive does, each as what goes and what is refused. */
async function threeAnswers(request: Partial<RedriveRequest>) {
  const preview = await ask(request);
  const verified = await world.ended((await world.request({ ...request, mode: "verify" })).id);
  const delivered = await world.ended((await world.request({ ...request, mode: "deliver" })).id);
  return {
    preview: { goes: preview.eligible, refused: preview.refused },
    verify: { goes: verified.passed, refused: verified.refusedByReason },
    redrive: { goes: delivered.delivered, refused: delivered.refusedByReason },
  };
}

async function arrange(name: string, { events, schema, facts = [], select, before }: Situation) {
  const sourceId = await world.source(name, schema ? { schema } : {});
  await world.park(events.length, (index) => events[index] ?? {}, name);
  for (const sql of facts) await world.db.run(sql, [sourceId]);
  if (facts.length > 0) await mendAllLines(world.db);
  const rows = await world.db.query<{ id: string }>(
    "select id from dlq_events where source_id = $1 order by event_id",
    [sourceId],
  );
  const ids = rows.map(({ id }) => id);
  await before?.(name, ids);
  if (!select) return { filter: { source: [name] } };
  return { ids: select.map((index) => ids[index]!) };
}

test.each(Object.entries(SITUATIONS))("preview, dry run and redrive say the same of %s", async (title, situation) => {
  const name = title.replaceAll(/\W+/g, "-").slice(0, 40);
  const select = await arrange(name, situation);
  const expected = { goes: situation.goes, refused: situation.refused };
  expect(await threeAnswers({ select, ...situation.request } as Partial<RedriveRequest>)).toEqual({
    preview: expected,
    verify: expected,
    redrive: expected,
  });
});

test("a sample of many holds the heads: of each aggregate its first event, with those that are taken along", async () => {
  const events = times(2_100, (index) => ({
    ...version(1 + Math.floor(index / 100), `order-${index % 100}`),
    ...payload(index < 200 ? {} : { amount: 1 }),
  }));
  const select = await arrange("heads", { events, schema: NEEDS_AMOUNT, goes: 0, refused: {} });
  const all = await ask({ select } as Partial<RedriveRequest>);
  expect(all).toMatchObject({ total: 2_100, eligible: 2_100, sample: { whole: false, wouldGo: 0, checked: 50 } });
  const rows = await world.db.query<{ id: string }>(
    "select e.id from dlq_events e join sources s on s.id = e.source_id where s.name = 'heads' and e.version = 21",
  );
  const taken = await ask({ select: { ids: rows.map(({ id }) => id) }, earlier: "include" } as Partial<RedriveRequest>);
  expect(taken).toMatchObject({ total: 2_100, sample: { whole: false, wouldGo: 0, checked: 50 } });
  expect(taken.sample!.refused["schema-mismatch"]).toBeGreaterThan(0);
});

describe("the controls that refuse events", () => {
  const named = ({ controls }: PreviewOut) =>
    controls?.map(({ refuses, control: { kind, value } }) => [refuses, kind, value]);

  test("are named, the one that refuses most first; an own cooldown and a whitelist are none", async () => {
    const aggregates = ["order-1", "order-2", "order-2", "order-3", "order-4", "order-5"];
    const select = await arrange("controlled", {
      events: aggregates.map((aggregateId) => unversioned(aggregateId)),
      facts: [
        control("blacklist", "aggregateId", "order-1"),
        control("cooldown", "aggregateId", "order-2"),
        cooling(3),
        cooling(4),
        control("whitelist", "aggregateId", "order-4"),
      ],
      goes: 0,
      refused: {},
    });
    const preview = await ask({ select } as Partial<RedriveRequest>);
    expect(preview.refused).toEqual({ blacklisted: 1, cooling: 3 });
    expect(named(preview)).toEqual([
      [2, "cooldown", "order-2"],
      [1, "blacklist", "order-1"],
    ]);
    expect(preview.controls![1]!.control).toMatchObject({ createdBy: "ada", reason: "test", source: "controlled" });
    expect((await ask({ select, sample: false } as Partial<RedriveRequest>)).controls).toBeNull();
  });

  test("are named without a count where more events are refused than are looked up", async () => {
    const select = await arrange("controlled-many", {
      events: times(2_001, (index) => unversioned(`order-${index}`)),
      facts: [...times(3, (index) => automatic(`order-${index}`)), control("whitelist", "aggregateId", "order-0")],
      goes: 0,
      refused: {},
    });
    expect((await ask({ select } as Partial<RedriveRequest>)).refused).toEqual({ blacklisted: 2 });
    const scope = { errorCode: "UPSTREAM_5XX", source: "controlled-many" };
    await imposeControl(world.deps, { kind: "blacklist", scope, reason: "test" }, localViewer("ada"));
    const preview = await ask({ select } as Partial<RedriveRequest>);
    expect(preview.refused).toEqual({ blacklisted: 2_001 });
    expect(named(preview)).toEqual([[null, "blacklist", "UPSTREAM_5XX"]]);
  });
});

test("a selection of more events than are planned is counted, and what happens to it is estimated from the newest", async () => {
  // The oldest tenth, which is not planned, has a code of its own under a blacklist; a fifth of the others cools down.
  const events = times(PLANNED_MAX + 2_000, (index) => {
    const errorCode = index < 2_000 ? "OLD" : "UPSTREAM_5XX";
    return { aggregateId: null, errorCode, ...payload({ amount: 1 }) };
  });
  const select = await arrange("estimated", {
    events,
    facts: [
      "update dlq_events set cooldown_until = now() + interval '15 minutes' where source_id = $1 and right(event_id, 1) in ('1', '2')",
    ],
    goes: 0,
    refused: {},
  });
  const preview = await ask({ select } as Partial<RedriveRequest>);
  expect(preview).toMatchObject({
    ...{ kind: "estimated", total: PLANNED_MAX + 2_000, eligible: 17_600, refused: { cooling: 4_400 } },
    ...{ byErrorCode: { OLD: 1_600, UPSTREAM_5XX: 16_000 }, earlier: { heldEvents: 0, bounded: true } },
    ...{ sample: { checked: 50, whole: false }, unknown: [] },
  });
});

/** Runs `look` while another transaction holds the table, so that what reads it is not answered in time. */
async function whileHeld<Answer>(table: string, look: () => Promise<Answer>): Promise<Answer> {
  return world.db.transaction(async (tx) => {
    await tx.run(`lock table ${table} in access exclusive mode`);
    return look();
  });
}

test("a preview that the store does not answer in time says which part is unknown, and answers the others", async () => {
  const many = await arrange("slow-store", { events: [version(1), unversioned()], goes: 0, refused: {} });
  const look = (request: Partial<RedriveRequest> = {}) => ask({ select: many, ...request } as Partial<RedriveRequest>);
  const partsOf = ({ unknown }: PreviewOut) => unknown.map(({ part }) => part).sort();
  const withoutOrder = await whileHeld("processed_events", look);
  expect(withoutOrder).toMatchObject({ total: 2, kind: "exact", eligible: null, earlier: null, sample: null });
  expect(withoutOrder.approvalCauses).toBeNull();
  expect(partsOf(withoutOrder)).toEqual(["earlier"]);
  const withoutSample = await whileHeld("skipped_heads", () => look({ earlier: "pass" }));
  expect(withoutSample).toMatchObject({ total: 2, eligible: 2, sample: null });
  expect(partsOf(withoutSample)).toEqual(["sample"]);
  const withoutEvents = await whileHeld("dlq_events", look);
  expect(withoutEvents).toMatchObject({ total: null, eligible: null });
  expect(partsOf(withoutEvents)).toEqual(["earlier", "total"]);
  expect(partsOf(await look())).toEqual([]);
});
