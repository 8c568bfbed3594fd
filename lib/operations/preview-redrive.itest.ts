import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedriveRequest } from "@/lib/contract/redrive-request";
import type { DeadLetter } from "@/lib/core/dead-letter";
import { localViewer } from "@/lib/core/viewer";
import { previewRedrive } from "@/lib/operations/preview-redrive";
import { systemClock } from "@/lib/platform/clock";
import { createPayloadChecker } from "@/lib/redriving/check-payload";
import { createSchemaCheck } from "@/lib/redriving/schema-check";
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
    facts: [
      cooling(0),
      `insert into processed_events (event_id, source_id, consumer, aggregate_type, aggregate_id, version)
       values ('other', $1, 'stock', 'order', 'order-7', 1)`,
    ],
    goes: 0,
    refused: { cooling: 1, "held-by-head": 2 },
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

async function arrange(name: string, { events, schema, facts = [], select }: Situation) {
  const sourceId = await world.source(name, schema ? { schema } : {});
  await world.park(events.length, (index) => events[index] ?? {}, name);
  for (const sql of facts) await world.db.run(sql, [sourceId]);
  const rows = await world.db.query<{ id: string }>(
    "select id from dlq_events where source_id = $1 order by event_id",
    [sourceId],
  );
  if (!select) return { filter: { source: [name] } };
  return { ids: select.map((index) => rows[index]!.id) };
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
