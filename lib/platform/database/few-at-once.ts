import { AsyncLocalStorage } from "node:async_hooks";
import type { Db, Queryable } from "@/lib/platform/database/db";

/** The owner of the current turn: a transaction's further statements must not wait for the turn that it holds. */
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
      // The next waiter takes over the turn.
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

/** Limits a request to `most` connections: its further statements wait here, not in front of those of other requests. */
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
