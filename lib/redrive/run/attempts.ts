import type { Deps } from "@/lib/platform/deps";
import { createBatcher } from "@/lib/redrive/run/batcher";
import { holdItems, type ItemHold } from "@/lib/redrive/run/store/claim-items.write";
import { type AttemptClose, closeAttempts } from "@/lib/redrive/run/store/finish-items.write";
import { type AttemptIntent, attemptKey, openAttempts } from "@/lib/redrive/run/store/open-attempts.write";

/** Intents, or ends, of one round trip. */
const BATCH_MAX = 200;
/** After a round trip for at least this many intents the next one waits for more: a statement costs as much as ten of its rows. */
const REST_ITEMS = 4;
const REST_MS_MAX = 4;

/** The attempts of this process on their way into the store, those of several items in one statement. */
export type Attempts = {
  /** Records an intent. False = it may not be sent (any more). */
  open(intent: AttemptIntent): Promise<boolean>;
  /** Records the end of an attempt that will be repeated, and for how long its target asked to leave the item alone. */
  close(close: AttemptClose, hold: ItemHold | null): Promise<void>;
};

export function createAttempts({ db, clock }: Pick<Deps, "db" | "clock">): Attempts {
  const opener = createBatcher<AttemptIntent, boolean>(
    async (intents) => {
      const opened = await openAttempts(db, intents);
      return intents.map((intent) => opened.has(attemptKey(intent)));
    },
    { max: BATCH_MAX, rest: { clock, items: REST_ITEMS, msMax: REST_MS_MAX } },
  );
  const closer = createBatcher<{ close: AttemptClose; hold: ItemHold | null }, void>(
    async (ends) => {
      const closes = ends.map(({ close }) => close);
      const holds = ends.flatMap(({ hold }) => hold ?? []);
      await db.transaction(async (tx) => {
        await closeAttempts(tx, closes);
        await holdItems(tx, holds);
      });
      return ends.map(() => undefined);
    },
    { max: BATCH_MAX },
  );
  return { open: opener.push, close: (close, hold) => closer.push({ close, hold }) };
}
