import { expect, test } from "vitest";
import { countEvents } from "@/lib/events/list/event-count.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db, Tx } from "@/lib/platform/database/db";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";

const world = worldOfEachTest();

test("HELD is counted without the texts of errors", async () => {
  await world.park(20, (index) => ({ aggregateId: "order-7", version: BigInt(index + 1) }));
  const viewer = localViewer("ada");
  expect((await countEvents(world.db, viewer, {}, Date.now())).byStatus.HELD).toMatchObject({
    value: 19,
    kind: "exact",
  });
  let looked = 0;
  const transaction: Db["transaction"] = (work, options) =>
    world.db.transaction(async (tx) => {
      const counting = countingRows(tx, "dlq_event_facts");
      const query = async (text: string, values?: readonly unknown[], settings?: Parameters<Tx["query"]>[2]) => {
        await counting.db.query(text, values as unknown[]);
        return tx.query(text, values as unknown[], settings);
      };
      const answer = await work({ ...tx, query: query as Tx["query"] });
      looked += counting.rows();
      return answer;
    }, options);
  await countEvents({ ...world.db, transaction }, viewer, {}, Date.now());
  expect(looked).toBe(0);
});
