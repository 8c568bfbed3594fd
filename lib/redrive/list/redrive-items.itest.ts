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

test("a page behind a cursor starts at it", async () => {
  const first = await listRedriveItems(db, viewer, query);
  const looked = countingRows(db, "redrive_items");
  await listRedriveItems(looked.db, viewer, { ...query, cursor: first.nextCursor });
  expect(looked.rows()).toBe(LIMIT + 1);
});

test("causes are read from the items that failed and from the events that bounced, and from no others", async () => {
  const { causes } = await readRedriveCauses(db, viewer, REDRIVE);
  expect(causes.map(({ outcome, result, count }) => [outcome, result, count])).toEqual([
    ["failed", "HTTP_500", FAILED],
    ["bounced", "TIMEOUT", BOUNCED],
  ]);
  const looked = countingRows(db, "redrive_items");
  await readRedriveCauses(looked.db, viewer, REDRIVE);
  expect(looked.rows()).toBeLessThan(2 * (FAILED + BOUNCED));
});
