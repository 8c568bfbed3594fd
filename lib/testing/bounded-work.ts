import { afterAll, beforeAll, expect, test } from "vitest";
import * as event from "@/app/(events)/api/v1/events/[id]/route";
import * as events from "@/app/(events)/api/v1/events/route";
import * as group from "@/app/(events)/api/v1/groups/[fingerprint]/route";
import * as groups from "@/app/(events)/api/v1/groups/route";
import * as operations from "@/app/(events)/api/v1/operations/route";
import * as approvals from "@/app/(guard)/api/v1/approvals/route";
import * as audit from "@/app/(guard)/api/v1/audit/route";
import * as stops from "@/app/(guard)/api/v1/stops/route";
import * as alerts from "@/app/(observe)/api/v1/alerts/route";
import * as age from "@/app/(observe)/api/v1/stats/age/route";
import * as differences from "@/app/(observe)/api/v1/stats/differences/route";
import * as flow from "@/app/(observe)/api/v1/stats/flow/route";
import * as markers from "@/app/(observe)/api/v1/stats/markers/route";
import * as success from "@/app/(observe)/api/v1/stats/redrive-success/route";
import * as size from "@/app/(observe)/api/v1/stats/size/route";
import * as top from "@/app/(observe)/api/v1/stats/top-errors/route";
import * as status from "@/app/(observe)/api/v1/status/route";
import * as controls from "@/app/(order)/api/v1/controls/route";
import * as tail from "@/app/(order)/api/v1/events/[id]/tail/route";
import * as causes from "@/app/(redrive)/api/v1/redrives/[id]/causes/route";
import * as items from "@/app/(redrive)/api/v1/redrives/[id]/items/route";
import * as rate from "@/app/(redrive)/api/v1/redrives/[id]/rate/route";
import * as redrive from "@/app/(redrive)/api/v1/redrives/[id]/route";
import * as redrives from "@/app/(redrive)/api/v1/redrives/route";
import * as contracts from "@/app/(sources)/api/v1/contracts/route";
import * as source from "@/app/(sources)/api/v1/sources/[name]/route";
import * as sources from "@/app/(sources)/api/v1/sources/route";
import * as targets from "@/app/(sources)/api/v1/targets/route";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { removeOldMutes } from "@/lib/events/groups/mutes/end-mutes.write";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { workForgets } from "@/lib/keep/forget/work-forget";
import { runRetention } from "@/lib/keep/retention/expire-events";
import { removeOldAlerts } from "@/lib/observe/alerts/alerts.write";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { notifyOperations } from "@/lib/observe/channels/notify-operations";
import { controlMetrics } from "@/lib/observe/metrics/parked-metrics.read";
import { redriveMetrics } from "@/lib/observe/metrics/work-metrics.read";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { removeExpired } from "@/lib/observe/rollups/upkeep.write";
import { removeOldControls } from "@/lib/order/controls/old-controls.write";
import { removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import { LINES_START, mendLines } from "@/lib/order/lines.write";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { createDb, type Db } from "@/lib/platform/database/db";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { foldTicks, removeOldTicks } from "@/lib/redrive/life/old-redrives.write";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { CONTRACT_DEFAULTS } from "@/lib/sources/contracts/contract.pure";
import { SOURCE_CONTRACT_DEFAULTS } from "@/lib/sources/contracts/source-contract.pure";
import { type CallOptions, type TestConsole, testConsole } from "@/lib/testing/console";
import { explaining } from "@/lib/testing/explained-statements";
import { deadLetter } from "@/lib/testing/letters";
import type { TestDatabase } from "@/lib/testing/postgres";
import { fillWaiting, WAITING } from "@/lib/testing/waiting-store";

const VIEWER = localViewer("ada");
const BOUNCED = 1_000;
/** Five million items take two minutes of processor time to fill, and ten times as long on a busy machine. */
const FILLED_MS_MAX = 3_600_000;

/** What the work needs of the filled store. */
type Store = TestConsole & { items: number; queued: string; parked: string };
type Handler = Parameters<TestConsole["call"]>[0];

const get =
  (handler: unknown, options: CallOptions = {}) =>
  async ({ call }: Store) => {
    const { status: answered, text } = await call(handler as Handler, { method: "GET", ...options });
    expect(answered, text).toBeLessThan(300);
  };

/** A storm of letters of events that were redriven. */
const bounce = ({ deps, items: before }: Store) =>
  parkEvents(
    deps,
    Array.from({ length: BOUNCED }, (_, index) => {
      const n = before + 4 - (before % 4) + index * 4;
      const letter = deadLetter({
        eventId: `event-${n}`,
        aggregateType: "order",
        aggregateId: `order-${Math.floor(n / 3)}`,
        version: BigInt(n % 3),
      });
      return { source: n % 10 === 0 ? "billing" : "orders", letter };
    }),
    VIEWER,
  );

/** It has an archive and removes nothing, because no event is old enough. */
const retention = ({ deps }: Store) => runRetention({ ...deps, archive: {} as ArchiveStore, upkeepDb: deps.db });

const mergeTicks = async ({ deps }: Store) => {
  while ((await foldTicks(deps.db)) > 0);
};

/** It has decided nothing lately. */
const standstill = async ({ deps, call }: Store) => {
  await deps.db.run("delete from redrive_ticks where redrive_id = $1 and at > now() - interval '1 minute'", [WAITING]);
  const { body } = await call(redrive.GET, { method: "GET", params: { id: WAITING } });
  expect(body).toMatchObject({ stalled: { code: expect.any(String) } });
};

const alertsRound = async ({ deps }: Store) => {
  expect(await evaluateAlerts({ ...deps, publicUrl: "" })).not.toBeNull();
};

/** What runs on a timer, for a poll or for an arrival: the most rows, and the most pages of 8 KB, that one of its statements may read. */
const WORK: [what: string, rows: number, pages: number, run: (store: Store) => Promise<unknown>][] = [
  ["removing what has expired", 100, 500, ({ deps }) => removeExpired(deps.db)],
  ["removing old alerts", 100, 500, ({ deps }) => removeOldAlerts(deps.db)],
  ["removing old mutes", 100, 500, ({ deps }) => removeOldMutes(deps.db)],
  ["removing old controls", 100, 500, ({ deps }) => removeOldControls(deps.db)],
  ["removing old ticks", 600, 4_000, ({ deps }) => removeOldTicks(deps.db, Date.now())],
  ["removing idle aggregates", 10_000, 20_000, ({ deps }) => removeIdleAggregates(deps.db, null)],
  // Of a page of 5,000 the rows of the events, their items, skips and lines.
  ["comparing lines with their events", 30_000, 100_000, ({ deps }) => mendLines(deps.db, LINES_START)],
  // The days from the catalogue, a page that has a row for each index of a day.
  ["retention and the removal of old keys", 200, 500, retention],
  ["folding rollups", 500, 500, ({ deps }) => foldRollups(deps.db)],
  ["merging the ticks of long redrives", 20_000, 30_000, mergeTicks],
  ["evaluating the alerts", 20_000, 60_000, alertsRound],
  ["telling channels about operations", 100, 500, ({ deps }) => notifyOperations({ ...deps, publicUrl: "" })],
  ["sealing the audit", 100, 500, ({ deps }) => sealEntries(deps.db)],
  // A chunk of 1,000 by their ids, or the processed events of a day while reading those costs less.
  ["confirming quiet events", 30_000, 30_000, ({ deps }) => confirmQuietEvents(deps)],
  ["running redrive rules", 100, 500, ({ deps }) => runRedriveRules(deps)],
  ["moving groups", 100, 500, ({ deps }) => moveGroups(deps.db)],
  ["working on forgets", 100, 500, ({ deps }) => workForgets(deps, new AbortController().signal)],
  // Of each event its row, its item and its place in the line; and where it was the newest confirmed version of its aggregate, the events of that,
  // looked up in each day.
  ["a storm of bounces", 10_000, 150_000, bounce],
  ["the status", 500, 300, get(status.GET)],
  [
    "the controls of the metrics",
    10_500,
    1_000,
    ({ deps }) => controlMetrics(deps.db, { viewer: VIEWER, scope: null, nowMs: 0 }),
  ],
  [
    "the redrives of the metrics",
    10_500,
    12_000,
    ({ deps }) => redriveMetrics(deps.db, { viewer: VIEWER, scope: null, nowMs: 0 }),
  ],
  ["the size", 500, 100, get(size.GET)],
  ["the flow", 500, 100, get(flow.GET)],
  ["the ages", 1_000, 1_000, get(age.GET)],
  ["the top errors", 500, 100, get(top.GET)],
  ["the success of redrives", 500, 100, get(success.GET)],
  ["the differences", 500, 100, get(differences.GET)],
  ["the marks of charts", 100, 500, get(markers.GET)],
  ["the list of redrives", 1_000, 1_000, get(redrives.GET)],
  ["the redrives under way", 1_000, 1_000, get(redrives.GET, { query: "?state=live" })],
  ["a redrive", 100, 500, get(redrive.GET, { params: { id: WAITING } })],
  ["why a redrive stands still", 4_000, 8_000, standstill],
  // Its ticks are merged above: those that were merged lie among the others until the table is vacuumed.
  ["the rate of a redrive", 500, 1_000, get(rate.GET, { params: { id: WAITING } })],
  ["the causes of a redrive", 200, 1_000, get(causes.GET, { params: { id: WAITING } })],
  ["the items of a redrive", 200, 1_000, get(items.GET, { params: { id: WAITING } })],
  [
    "what failed in a redrive",
    300,
    1_000,
    get(items.GET, { params: { id: WAITING }, query: "?outcome=failed,refused" }),
  ],
  [
    "what bounced in a redrive",
    300,
    1_000,
    get(items.GET, { params: { id: WAITING }, query: "?outcome=bounced,failed" }),
  ],
  ["the items of a cause", 300, 1_000, get(items.GET, { params: { id: WAITING }, query: "?result=TIMEOUT" })],
  ["the controls in force", 1_000, 2_000, get(controls.GET, { query: "?state=live" })],
  ["the controls that ended", 100, 500, get(controls.GET, { query: "?state=ended" })],
  ["the alerts that fire", 100, 500, get(alerts.GET, { query: "?state=firing" })],
  ["the resolved alerts", 100, 500, get(alerts.GET, { query: "?state=resolved" })],
  ["the list of events", 200, 600, get(events.GET)],
  ["the queued events", 300, 1_500, get(events.GET, { query: "?status=QUEUED" })],
  ["the parked events of a source", 1_500, 800, get(events.GET, { query: "?status=PENDING&source=billing" })],
  ["a queued event", 100, 500, (store) => get(event.GET, { params: { id: store.queued } })(store)],
  ["a parked event", 100, 500, (store) => get(event.GET, { params: { id: store.parked } })(store)],
  ["what an event holds", 100, 500, (store) => get(tail.GET, { params: { id: store.parked } })(store)],
  // The levels of all groups choose the page, and those of the page are read again.
  ["the groups", 700, 500, get(groups.GET)],
  ["a group", 5_000, 10_000, get(group.GET, { params: { fingerprint: "group-1" } })],
  ["the operations", 100, 500, get(operations.GET)],
  ["the sources", 100, 500, get(sources.GET)],
  ["a source", 100, 500, get(source.GET, { params: { name: "orders" } })],
  ["the targets", 100, 500, get(targets.GET)],
  ["the contracts", 20_000, 60_000, get(contracts.GET)],
  ["the audit", 100, 500, get(audit.GET)],
  ["the stops", 100, 500, get(stops.GET)],
  ["the approvals", 100, 500, get(approvals.GET)],
];

/** Rows of a table that a statement may read from end to end: of sources, targets, groups, days. The others have more. */
const WHOLE_MAX = 500;

/**
 * Defines a test for each piece of work, over a store with so many open items. `told`: the planner is told that there are so many, and
 * makes the plans that it would make for them. One read is not here, because it is not bounded: which events more blacklists of Parkade
 * are over than `readBlacklistedByParkade` looks up (a time limit ends it).
 */
export function boundedWork(
  items: number,
  { open, told = items }: { open: () => Promise<TestDatabase>; told?: number },
): void {
  let database: TestDatabase;
  let db: Db;
  let store: Store;
  let explained: Awaited<ReturnType<typeof explaining>>;

  beforeAll(async () => {
    database = await open();
    db = createDb(database.url, { max: 2 });
    await fillWaiting(db, items, { told });
    await db.run("update sources set known_days = 30, contract = $1", [
      { ...SOURCE_CONTRACT_DEFAULTS, dedupWindowMs: 60_000 },
    ]);
    await db.run("update targets set contract = $1", [{ ...CONTRACT_DEFAULTS, semantics: "effectively-once" }]);
    const [ids] = await db.query<{ queued: string; parked: string }>(
      `select (select id from dlq_events where status = 'QUEUED' order by id desc limit 1) as queued,
              (select id from dlq_events where status = 'PENDING' order by id limit 1) as parked`,
    );
    explained = await explaining(db);
    store = { ...(await testConsole({ DATABASE_URL: database.url })), ...ids!, items };
  }, FILLED_MS_MAX);
  afterAll(async () => {
    await store?.close();
    await db?.end();
    await database?.drop();
  });

  test.each(WORK)("%s: a statement reads at most %i rows and %i pages", async (_what, rows, pages, run) => {
    await db.run(
      "insert into redrive_ticks (redrive_id, at, delivered) select id, now(), 1 from redrives where state = 'RUNNING'",
    );
    const seen = await explained(() => run(store));
    expect(seen.length).toBeGreaterThan(0);
    const over = seen.filter(
      (one) => one.rows > rows || one.pages > pages || one.whole.some((table) => table.rows > WHOLE_MAX),
    );
    expect(over).toEqual([]);
  });
}
