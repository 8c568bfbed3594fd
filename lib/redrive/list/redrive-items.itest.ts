import { beforeAll, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { listRedriveItems, readRedriveCauses } from "@/lib/redrive/list/redrive-items.read";
import { countingRows } from "@/lib/testing/rows-looked-at";
import { storeOfFile } from "@/lib/testing/store-of-file";

const [SOURCE, REDRIVE] = ["00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"];
const [ITEMS, BOUNCED, FAILED, LIMIT] = [3_000, 4, 20, 10];

const { db } = storeOfFile({ max: 1 });
const viewer = localViewer("ada");
const query = { redriveId: REDRIVE, state: null, outcome: null, result: null, cursor: null, limit: LIMIT };

beforeAll(async () => {
  await ensurePartitions(db, Date.now() - 60_000, Date.now());
  await db.run("insert into sources (id, name, kind, config) values ($1, 'orders', 'http', '{}')", [SOURCE]);
  // The oldest bounced and failed: a walk from the newest item on reads all others first.
  await db.run(
    `with fresh as materialized (select uuidv7(make_interval(secs => n / 1000.0 - 10)) as id, n from generate_series(1, $3::int) n),
     items as (
       insert into redrive_items (id, redrive_id, slice, source_id, error_code, state, result)
       select id, $2, 0, $1, 'TIMEOUT', case when n > $4 and n <= $4 + $5::int then 'failed' else 'delivered' end, 'HTTP_500' from fresh)
     insert into dlq_events (id, source_id, event_id, error_code, fingerprint, first_seen, bounces, bounced_redrives)
     select id, $1, 'event-' || n, 'TIMEOUT', 'group', uuid_extract_timestamp(id), (n <= $4::int)::int,
            case when n <= $4 then array[$2::uuid] else '{}' end from fresh`,
    [SOURCE, REDRIVE, ITEMS, BOUNCED, FAILED],
  );
  await db.run(
    "insert into event_bounces (id, bounce, at, redrive_id, sent, error_code) select id, 1, now(), $1, 1, error_code from dlq_events where bounces > 0",
    [REDRIVE],
  );
  await db.run(
    `insert into redrives (id, state, mode, lane, selection, cutoff, slices, created_by, reason, failed_by_reason, bounced_by_reason)
     values ($1, 'DONE', 'deliver', 'main', '{"filter":{}}', $1, 1, 'ada', 'stock is back', $2, $3)`,
    [REDRIVE, { HTTP_500: FAILED }, { TIMEOUT: BOUNCED }],
  );
  await db.run("analyze");
});

test.each([
  ["bounced", BOUNCED],
  ["failed", LIMIT + 1],
])("a page of %s items is read by index, however many others the redrive has", async (outcome, found) => {
  const { items } = await listRedriveItems(db, viewer, { ...query, outcome });
  expect(items.map((item) => item.outcome)).toEqual(Array(Math.min(found, LIMIT)).fill(outcome));
  const [ofItems, ofEvents] = [countingRows(db, "redrive_items"), countingRows(db, "dlq_events_")];
  await listRedriveItems(ofItems.db, viewer, { ...query, outcome });
  await listRedriveItems(ofEvents.db, viewer, { ...query, outcome });
  expect(ofItems.rows()).toBe(found);
  expect(ofEvents.rows()).toBeLessThanOrEqual(2 * found);
});

test.each([
  ["HTTP_500", LIMIT + 1],
  ["TIMEOUT", BOUNCED],
])("a page of what ended as %s is read by index", async (result, found) => {
  const { items } = await listRedriveItems(db, viewer, { ...query, result });
  expect(items).toHaveLength(Math.min(found, LIMIT));
  const looked = countingRows(db, "redrive_items");
  await listRedriveItems(looked.db, viewer, { ...query, result });
  expect(looked.rows()).toBe(found);
});

test("a page behind a cursor starts at it", async () => {
  const first = await listRedriveItems(db, viewer, query);
  const looked = countingRows(db, "redrive_items");
  await listRedriveItems(looked.db, viewer, { ...query, cursor: first.nextCursor });
  expect(looked.rows()).toBe(LIMIT + 1);
});

test("causes are counted by the redrive, and their samples are read by index", async () => {
  const { causes } = await readRedriveCauses(db, viewer, REDRIVE);
  expect(causes.map(({ outcome, result, count, samples }) => [outcome, result, count, samples.length])).toEqual([
    ["failed", "HTTP_500", FAILED, 3],
    ["bounced", "TIMEOUT", BOUNCED, 3],
  ]);
  const looked = countingRows(db, "redrive_items");
  await readRedriveCauses(looked.db, viewer, REDRIVE);
  // Each sample is looked up and read.
  expect(looked.rows()).toBe(2 * 6);
});
