import { expect, test } from "vitest";
import type { Db } from "@/lib/platform/database/db";
import { fewAtOnce } from "@/lib/platform/database/few-at-once";

/** A store whose statements and transactions take several turns of the event loop; it records the most that ran at once. */
function watched() {
  let [running, most] = [0, 0];
  const taking = async <T>(work: () => Promise<T>): Promise<T> => {
    running++;
    most = Math.max(most, running);
    try {
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      return await work();
    } finally {
      running--;
    }
  };
  const query = (text: string) =>
    taking(async () => {
      if (text === "fails") throw new Error("refused");
      return [text];
    });
  const db = {
    query,
    run: query,
    transaction: (work: (tx: unknown) => Promise<unknown>) => taking(() => work({ query: async () => ["in it"] })),
  } as unknown as Db;
  return { db, most: () => most };
}

test("as many statements and transactions run at once as are allowed, also after some have failed", async () => {
  const { db, most } = watched();
  const few = fewAtOnce(db, 3);
  const asked = Array.from({ length: 12 }, (_, index) =>
    index % 3 === 0 ? few.transaction((tx) => tx.query("a")) : few.query(index % 3 === 1 ? "fails" : "b"),
  );
  const ends = await Promise.allSettled(asked);
  expect(ends.map(({ status }) => status)).toEqual(
    Array.from({ length: 12 }, (_, index) => (index % 3 === 1 ? "rejected" : "fulfilled")),
  );
  expect(most()).toBe(3);
});

test("what a transaction asks the store besides does not wait for its own turn", async () => {
  const few = fewAtOnce(watched().db, 2);
  const nested = () => few.transaction(() => few.query("beside"));
  expect(await Promise.all([nested(), nested(), nested()])).toEqual([["beside"], ["beside"], ["beside"]]);
});
