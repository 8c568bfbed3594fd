import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { storeOf } from "@/lib/platform/database/few-at-once";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type MaskRule, type Masks, masksOf } from "./mask-rule.pure";
import type { MaskRuleList, MaskRuleOut } from "./mask-rules.shapes";

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

const COLUMNS = `m.id, m.source, m.kind, m.pattern, m.enabled, m.created_by as "createdBy", m.created_at as "createdAt",
  m.updated_by as "updatedBy", m.updated_at as "updatedAt"`;
const SEEN = "($1::text[] is null or m.source is null or m.source = any($1))";

/** The rules that apply to what the viewer sees. */
export async function listMaskRules(db: Queryable, viewer: Viewer): Promise<MaskRuleList> {
  const items = await db.query<MaskRuleOut>(
    `select ${COLUMNS} from mask_rules m where ${SEEN} order by m.kind, m.pattern, m.source nulls first`,
    [sourceScope(viewer)],
    { isoTimes: true },
  );
  return { items };
}

/** Throws DomainError `unknown-mask-rule`. */
export async function readMaskRule(db: Queryable, viewer: Viewer, id: string): Promise<MaskRuleOut> {
  const [row] = await db.query<MaskRuleOut>(
    `select ${COLUMNS} from mask_rules m where ${SEEN} and m.id = $2`,
    [sourceScope(viewer), id],
    { isoTimes: true },
  );
  if (row) return row;
  throw new DomainError("unknown-mask-rule", `There is no mask rule ${id}`, {
    fields: [{ field: "id", detail: "list rules with GET /api/v1/mask-rules" }],
  });
}
