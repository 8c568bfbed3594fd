import { expect, test } from "vitest";
import type { Deps } from "@/lib/lane/deps";
import type { Db, Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { readCandidateIds } from "@/lib/selection/candidates.read";
import type { FrozenSelection } from "@/lib/selection/scope.shapes";
import { type Walk, walkSelection } from "./walk-selection";

const CHUNK = 2_000;

/** A store that ends each read of more than `rowsMax` events, and has `left` of them. */
function slowStore(rowsMax: number, left: number) {
  const limits: number[] = [];
  const query = async (_text: string, values: readonly unknown[] = []) => {
    const limit = values.findLast((value): value is number => typeof value === "number" && value <= CHUNK)!;
    limits.push(limit);
    if (limit > rowsMax) throw new DomainError("read-timeout", "The store took too long");
    const found = Math.min(limit, left);
    left -= found;
    return Array.from({ length: found }, (_, n) => ({ id: String(left + found - n) }));
  };
  const tx = { query, run: async () => 1 } as unknown as Tx;
  const db = { transaction: (work: (tx: Tx) => Promise<unknown>) => work(tx) } as unknown as Db;
  return { db, limits };
}

function walkOf(seen: string[]): Walk<{ id: string }> {
  return {
    selection: { ids: ["a"], asOfMs: 0 } as unknown as FrozenSelection,
    read: readCandidateIds,
    cutoff: "ffffffff-ffff-7fff-bfff-ffffffffffff",
    cursor: null,
    chunkMax: CHUNK,
    runs: async () => true,
    advance: async () => true,
    work: async (_tx, events) => void seen.push(...events.map(({ id }) => id)),
    complete: async () => undefined,
  };
}

const depsOf = (db: Db) => ({ db, clock: { wallMs: () => 0, timer: () => () => {} } }) as unknown as Deps;

test("a chunk that takes too long is read in smaller ones, each event once", async () => {
  const { db, limits } = slowStore(300, 500);
  const seen: string[] = [];
  expect(await walkSelection(depsOf(db), walkOf(seen), new AbortController().signal)).toBe(true);
  expect(limits.slice(0, 2)).toEqual([CHUNK, CHUNK / 8]);
  expect(new Set(seen).size).toBe(500);
  expect(seen).toHaveLength(500);
});

test("a store that cannot read one event within its time fails the walk", async () => {
  const { db, limits } = slowStore(0, 500);
  const walked = walkSelection(depsOf(db), walkOf([]), new AbortController().signal);
  await expect(walked).rejects.toMatchObject({ code: "read-timeout" });
  expect(limits.at(-1)).toBe(1);
});

/** A store of 500 events, which are read by the cursor. `commit` is awaited at the end of each transaction. */
function overlapping(commit: (chunk: string) => Promise<void>) {
  const log: string[] = [];
  const walked: string[] = [];
  let cursor: string | null = null;
  const db = {
    transaction: async (work: (tx: Tx) => Promise<unknown>) => {
      const tx = {} as { advance?: () => void; chunk?: string };
      const step = await work(tx as unknown as Tx);
      await commit(tx.chunk ?? "");
      tx.advance?.();
      log.push(`committed ${tx.chunk}`);
      return step;
    },
  } as unknown as Db;
  const walk: Walk<{ id: string }> = {
    ...walkOf([]),
    overlaps: true,
    chunkMax: 100,
    read: async (_tx, { after, limit }) => {
      const from = Number(after ?? 500);
      return Array.from({ length: Math.min(limit, from) }, (_, n) => ({ id: String(from - 1 - n) }));
    },
    work: async (tx, events, _nowMs, turn) => {
      const chunk = `${events[0]!.id} to ${events.at(-1)!.id}`;
      log.push(`worked ${chunk}`);
      await turn();
      Object.assign(tx, { chunk, events });
    },
    advance: async (tx, from, to) => {
      if (from !== cursor) return false;
      const advance = () => {
        cursor = to;
        walked.push(...(tx as unknown as { events: { id: string }[] }).events.map(({ id }) => id));
      };
      Object.assign(tx, { advance });
      return true;
    },
  };
  return { walk, db, log, walked };
}

test("a chunk that overlaps is worked before the one before it has committed, and commits after it", async () => {
  const worked = Promise.withResolvers<void>();
  const { walk, db, log, walked } = overlapping(async (chunk) => {
    if (chunk === "499 to 400") await worked.promise;
  });
  const work = walk.work;
  walk.work = (tx, events, nowMs, turn) => {
    if (events[0]!.id === "399") worked.resolve();
    return work(tx, events, nowMs, turn);
  };
  expect(await walkSelection(depsOf(db), walk, new AbortController().signal)).toBe(true);
  expect(log.slice(0, 3)).toEqual(["worked 499 to 400", "worked 399 to 300", "committed 499 to 400"]);
  expect(walked).toEqual(Array.from({ length: 500 }, (_, n) => String(499 - n)));
});

test("a chunk fails with the one that it overlaps, and both are walked again", async () => {
  let failures = 1;
  const { walk, db, walked } = overlapping(async (chunk) => {
    if (chunk === "399 to 300" && failures-- > 0) throw new DomainError("read-timeout", "The store took too long");
  });
  expect(await walkSelection(depsOf(db), walk, new AbortController().signal)).toBe(true);
  expect(walked).toEqual(Array.from({ length: 500 }, (_, n) => String(499 - n)));
});

test("a walk that another worker has taken over commits neither of two chunks", async () => {
  const { walk, db, walked } = overlapping(async () => {});
  walk.advance = async () => false;
  expect(await walkSelection(depsOf(db), walk, new AbortController().signal)).toBe(false);
  expect(walked).toEqual([]);
});
