import type { Queryable } from "@/lib/platform/database/db";
import { storeOf } from "@/lib/platform/database/few-at-once";
import { type MaskRule, type Masks, masksOf } from "./mask-rule.pure";

// On globalThis: Next loads a route and a page as separate bundles.
const holder = globalThis as typeof globalThis & { parkadeMasks?: WeakMap<Queryable, Promise<Masks>> };

/**
 * The rules in force. Reads at the same time share one read of each store, so a busy process asks once for many answers, and a
 * changed rule counts from the next one on.
 */
export function readMasks(db: Queryable): Promise<Masks> {
  holder.parkadeMasks ??= new WeakMap();
  const reading = holder.parkadeMasks;
  // Not in the turns of one request: others wait for this read as well.
  const store = storeOf(db);
  const known = reading.get(store);
  if (known !== undefined) return known;
  const masks = readRulesInForce(store)
    .then(masksOf)
    .finally(() => reading.delete(store));
  reading.set(store, masks);
  return masks;
}

/** After a change: a read that began before it is joined no more. */
export function forgetMasks(): void {
  holder.parkadeMasks = new WeakMap();
}

/** All rules, the disabled ones among them. */
export function readRulesInForce(db: Queryable): Promise<MaskRule[]> {
  return db.query<MaskRule>("select source, kind, pattern, enabled from mask_rules", [], { name: "masks-in-force" });
}
