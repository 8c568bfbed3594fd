import { expect, test } from "vitest";
import { readCandidateIds } from "@/lib/events/selection/candidates.read";
import type { FrozenSelection } from "@/lib/guard/viewer/scope.shapes";
import type { Db, Tx } from "@/lib/platform/database/db";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";
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

const depsOf = (db: Db) => ({ db, clock: { wallMs: () => 0 } }) as unknown as Deps;

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
