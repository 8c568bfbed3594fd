import type { Db, Tx } from "@/lib/platform/database/db";

/** The store of a process that dies instead of making its `last`th commit: every later call fails. */
export function dyingDb(db: Db, last: number): Db {
  let transactions = 0;
  const alive = () => {
    if (transactions >= last) throw new Error("killed");
  };
  return Object.assign(Object.create(db), {
    transaction: async (work: (tx: Tx) => Promise<unknown>, options: Parameters<Db["transaction"]>[1]) => {
      alive();
      return db.transaction(async (tx) => {
        const result = await work(tx);
        transactions++;
        alive();
        return result;
      }, options);
    },
    query: async (...args: Parameters<Db["query"]>) => {
      alive();
      return db.query(...args);
    },
    run: async (...args: Parameters<Db["run"]>) => {
      alive();
      return db.run(...args);
    },
  });
}

/** The store of a slow process, whose transactions do all their work and then commit only when allowed. */
export function slowDb(db: Db): { db: Db; worked: Promise<void>; commit: () => void } {
  const [worked, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Db = Object.assign(Object.create(db), {
    transaction: (work: (tx: Tx) => Promise<unknown>, options: Parameters<Db["transaction"]>[1]) =>
      db.transaction(async (tx) => {
        const result = await work(tx);
        worked.resolve();
        await commit.promise;
        return result;
      }, options),
  });
  return { db: slow, worked: worked.promise, commit: commit.resolve };
}
