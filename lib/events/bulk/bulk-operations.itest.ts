import { expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { openWorld } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";

const MEND = "019a0000-0000-7000-8000-000000000001";

test("the undo of a mend is looked up alone, whatever bulk operations came after it", async () => {
  const world = await openWorld({ redisUrl: null });
  await world.db.run(
    `insert into bulk_operations (id, kind, state, selection, cutoff, expected, expected_kind, changed, audit_id, created_by, reason)
     select ('019a0000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, (array['undo-mend', 'mend'])[1 + n % 2], 'DONE',
            case n % 2 when 0 then jsonb_build_object('operation', '019a0000-0000-7000-8000-' || lpad(to_hex(n - 1), 12, '0'))
                       else '{"filter": {}}' end,
            gen_random_uuid(), 1, 'exact', 1, gen_random_uuid(), 'ada', 'renamed'
       from generate_series(1, 20000) n`,
  );
  await world.db.run("analyze bulk_operations");
  const mend = await readBulkOperation(world.db, localViewer(), MEND);
  expect(mend?.undo).toMatchObject({ id: MEND.replace(/1$/, "2"), running: false, changed: 1 });
  const explaining = countingRows(world.db, "bulk_operations");
  // It is given plans in place of rows.
  await expect(readBulkOperation(explaining.db, localViewer(), MEND)).rejects.toThrow("There is no operation");
  expect(explaining.rows()).toBeLessThanOrEqual(2);
  await world.close();
});
