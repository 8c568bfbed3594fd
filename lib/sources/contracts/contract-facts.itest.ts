import { expect, test } from "vitest";
import { readContractFacts } from "@/lib/sources/contracts/contract-facts.read";
import { storeOfFile } from "@/lib/testing/store-of-file";

const { db } = storeOfFile({ max: 1 });

/** An attempt of each of these events. */
const attempt = (events: string, number: number, ago: string, key: string) =>
  db.run(
    `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, idempotency_key, opened_at)
     select lpad(n::text, 32, '0')::uuid, '019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20', $1, 1, 'failed', 'orders', $3, now() - $2::interval
       from generate_series(${events}) n`,
    [number, ago, key],
  );

test("judges the newest repeats when there are more than it reads", async () => {
  const engine = { counters: {}, latency: {}, waits: {}, bulkhead: { permits: 10 }, budget: {} };
  await db.run("insert into worker_heartbeats (id, started_at, info, seen_at) values (uuidv7(), now(), $1, now())", [
    { targets: { orders: engine } },
  ]);
  for (const number of [1, 2]) {
    await attempt("1, 500", number, "5 minutes", `key ${number}`);
    await attempt("501, 10500", number, "2 minutes", "key");
  }
  const facts = (await readContractFacts(db)).get("orders");
  expect(facts?.repeated).toMatchObject({ repeats: 10_000, otherKeys: 0 });
});
