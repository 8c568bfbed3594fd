import { expect, test } from "vitest";
import { oldStore } from "../lib/testing/old-store.ts";

const MIGRATION = "20261124000201_outbox_of_the_kit";

test("a row that somebody put into the outbox of before is kept", async () => {
  const { query, upgrade } = await oldStore(MIGRATION);
  await query(
    `insert into outbox (id, aggregate_type, aggregate_id, event_type, payload, headers)
     values ('00000000-0000-7000-9000-000000000001', 'order', '77', 'paid', '{"n": 1}', '{"a": "b"}')`,
  );
  expect(await upgrade()).toContain(MIGRATION);
  const rows = await query("select id, seq, payload, headers, status from outbox");
  expect(rows).toEqual([
    {
      id: "00000000-0000-7000-9000-000000000001",
      seq: "1",
      payload: Buffer.from('{"n": 1}'),
      headers: [["a", "b"]],
      status: "NEW",
    },
  ]);
});
