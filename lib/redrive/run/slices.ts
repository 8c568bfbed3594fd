import type { Deps } from "@/lib/lane/deps";
import { inTransaction, retrying } from "@/lib/platform/database/retrying";
import {
  abandonSlices,
  freeForgottenSlices,
  ownedSlices,
  releaseSlices,
  takeSlices,
} from "@/lib/redrive/run/store/slice-owners.write";

/** While the store is away, slices are given back this often, and for this long. */
const STORE_RETRY_MS = 500;
const STORE_RETRIES_MS = 30_000;

/** A statement without an answer may be committed this much later: its connection is gone, and the server finds out. */
const DOUBT_MS = 60_000;

/** Slices of one redrive, an inclusive range. */
export type SliceRange = { redriveId: string; slices: [first: number, last: number] };

/** The slices that this process works. */
export type Slices = {
  /**
   * Works slices while it owns them, with the epoch of each; null = they are worked already, here or elsewhere. They are given back at the
   * end; when `work` rejects, what it had under way becomes ambiguous.
   */
  own<T>(range: SliceRange, work: (epochs: ReadonlyMap<number, bigint>) => Promise<T>): Promise<T | null>;
  /** Frees the slices that the store gives this worker and that it does not work: an answer was lost. Returns their number. */
  settle(): Promise<number>;
  /** How many are worked. */
  count(): number;
};

export function createSlices(
  deps: Pick<Deps, "db" | "clock" | "log">,
  { workerId, stopping }: { workerId: string; stopping: AbortSignal },
): Slices {
  const { db, clock, log } = deps;
  const held = new Set<string>();
  /** Until then, monotonic ms, a taking or a giving back whose answer was lost may still be committed. */
  let doubtUntilMs = Number.NEGATIVE_INFINITY;
  let settledMs = Number.NEGATIVE_INFINITY;
  const doubt = () => {
    doubtUntilMs = clock.nowMs() + DOUBT_MS;
  };
  const patience = { clock, forMs: STORE_RETRIES_MS, everyMs: STORE_RETRY_MS, signal: stopping };

  const keyOf = ({ redriveId, slice }: { redriveId: string; slice: number }) => `${redriveId}.${slice}`;
  const keysOf = ({ redriveId, slices: [first, last] }: SliceRange) =>
    Array.from({ length: last - first + 1 }, (_, index) => keyOf({ redriveId, slice: first + index }));

  async function giveBack(range: SliceRange, epochs: ReadonlyMap<number, bigint>, clean: boolean): Promise<void> {
    const slices = { ...range, workerId };
    try {
      await retrying(
        async () => {
          if (clean) await releaseSlices(db, { ...slices, epochs });
          else await inTransaction(db, (tx) => abandonSlices(tx, slices));
        },
        { patience, pause: db.pause },
      );
    } catch (error) {
      doubt();
      log.warn(
        { redriveId: range.redriveId, err: error },
        "slices not given back, tried again with the next heartbeat",
      );
    }
  }

  return {
    own: async (range, work) => {
      const slices = keysOf(range);
      if (slices.some((slice) => held.has(slice))) return null;
      for (const slice of slices) held.add(slice);
      try {
        const epochs = await takeSlices(db, { ...range, workerId }).catch((error: unknown) => {
          doubt();
          throw error;
        });
        if (epochs === null) return null;
        let clean = false;
        try {
          const result = await work(epochs);
          clean = true;
          return result;
        } finally {
          await giveBack(range, epochs, clean);
        }
      } finally {
        for (const slice of slices) held.delete(slice);
      }
    },
    settle: async () => {
      // Until one reading after the doubt has succeeded.
      if (settledMs > doubtUntilMs) return 0;
      const startMs = clock.nowMs();
      const owned = await ownedSlices(db, workerId);
      // Only now: a slice is worked from before its taking is sent until after it is given back.
      const forgotten = owned.filter((slice) => !held.has(keyOf(slice)));
      const freed =
        forgotten.length === 0 ? 0 : await inTransaction(db, (tx) => freeForgottenSlices(tx, workerId, forgotten));
      settledMs = startMs;
      return freed;
    },
    count: () => held.size,
  };
}
