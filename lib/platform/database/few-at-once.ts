import { AsyncLocalStorage } from "node:async_hooks";
import type { Db, Queryable } from "@/lib/platform/database/db";

/** Whose statement or transaction this is run by; what a transaction asks its store besides must not wait for itself. */
const runner = new AsyncLocalStorage<symbol>();

type Turns = <T>(work: () => Promise<T>) => Promise<T>;

function turnsOf(most: number): Turns {
  const self = Symbol("few at once");
  const waiting: (() => void)[] = [];
  let free = most;
  return async (work) => {
    if (runner.getStore() === self) return work();
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await runner.run(self, work);
    } finally {
      // Whoever waits takes the turn over.
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}

function inTurns(db: Queryable, turns: Turns): Queryable {
  return {
    query: (...statement) => turns(() => db.query(...statement)),
    run: (...statement) => turns(() => db.run(...statement)),
  };
}

const stores = new WeakMap<Queryable, Queryable>();

/** A store of which one request takes at most `most` connections: its other statements wait here, not before the statements of others. */
export function fewAtOnce(db: Db, most: number): Db {
  const turns = turnsOf(most);
  const few: Db = {
    ...db,
    ...inTurns(db, turns),
    transaction: (work, options) => turns(() => db.transaction(work, options)),
  };
  stores.set(few, db);
  return few;
}

/** The store itself, for what requests share: each of them has a `fewAtOnce` of its own. */
export function storeOf(db: Queryable): Queryable {
  return stores.get(db) ?? db;
}

/** The connection of a transaction takes one statement at a time. */
export function oneAtATime(tx: Queryable): Queryable {
  return inTurns(tx, turnsOf(1));
}
