import type { Deps } from "@/lib/lane/deps";
import { inTransaction } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import { createBatcher } from "@/lib/redrive/run/batcher";
import { type AttemptClose, insertAttempts } from "@/lib/redrive/run/store/finish-items.write";
import { type AttemptIntent, attemptKey, type Intent, openIntents } from "@/lib/redrive/run/store/intents.write";
import { holdItems, type ItemHold } from "@/lib/redrive/run/store/item-waits.write";

/** Intents, or ends, of one round trip. */
const BATCH_MAX = 200;
/** After a round trip for at least this many intents the next one waits for more: a statement costs as much as ten of its rows. */
const REST_ITEMS = 4;
const REST_MS_MAX = 8;

/** The attempts of this process on their way into the store, those of several items in one statement. */
export type Attempts = {
  /** Records an intent. null = it may not be sent (any more). */
  open(intent: AttemptIntent): Promise<Intent | null>;
  /** Records the end of an attempt that will be repeated, and for how long its target asked to leave the item alone. */
  close(close: AttemptClose, hold: ItemHold | null): Promise<void>;
  /** The ends of these are in the store: a wave without an open send leaves it with the next one. */
  ended(closes: readonly AttemptClose[]): void;
};

export function createAttempts({ db, clock, log }: Pick<Deps, "db" | "clock" | "log">): Attempts {
  /** Waves whose sends have all ended. */
  let over: string[] = [];
  const ended = (closes: readonly AttemptClose[]) => {
    for (const { intent } of closes) {
      if (intent !== null && --intent.wave.open === 0) over.push(intent.wave.id);
    }
  };
  const opener = createBatcher<AttemptIntent, Intent | null>(
    async (intents) => {
      const wave = { id: uuidv7(clock.wallMs()), open: 0 };
      const removed = over;
      over = [];
      const opening = openIntents({ db, clock }, intents, { id: wave.id, ended: removed });
      const { opened, openedAtMs, lookedMs } = await opening.catch((error) => {
        log.warn({ err: error, events: intents.length }, "sends not begun, their events go back");
        // Nothing of it is sent, whether it is on record or not.
        over.push(wave.id, ...removed);
        throw error;
      });
      wave.open = opened.size;
      return intents.map((intent) => (opened.has(attemptKey(intent)) ? { openedAtMs, lookedMs, wave } : null));
    },
    { max: BATCH_MAX, rest: { clock, items: REST_ITEMS, msMax: REST_MS_MAX } },
  );
  const closer = createBatcher<{ close: AttemptClose; hold: ItemHold | null }, void>(
    async (ends) => {
      const closes = ends.map(({ close }) => close);
      const holds = ends.flatMap(({ hold }) => hold ?? []);
      // The owners of slices before the attempts, as giving a worker up locks them.
      await inTransaction(db, async (tx) => {
        await holdItems(tx, holds);
        await insertAttempts(tx, closes);
      });
      ended(closes);
      return ends.map(() => undefined);
    },
    { max: BATCH_MAX },
  );
  return { open: opener.push, close: (close, hold) => closer.push({ close, hold }), ended };
}
