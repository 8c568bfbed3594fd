import { maskValue } from "@/lib/guard/masking/mask.pure";
import { type MaskSet, ruleOfPlace, segmentsOf } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { assertMay, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { countObjects } from "@/lib/keep/forget/archived-lines.write";
import type { ForgetPreview, ForgetWhat } from "@/lib/keep/forget/forget.shapes";
import { scopeOf } from "@/lib/keep/forget/forget-data";
import { type ForgetScope, readMatching } from "@/lib/keep/forget/matching-events.read";
import { readKept } from "@/lib/keep/forget/work-forget";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { isReadTimeout } from "@/lib/platform/database/retrying";
import { uuidv7LowerBound } from "@/lib/platform/ids";

/** Time limit of a statement, and of all of them: beyond it the preview says that it does not know. */
const COUNT_MS_MAX = 4_000;
const PAGE = 500;
const PAGES_MAX = 20;

/** What a forget would do now. Throws as `forgetData`, and DomainError `forbidden` where it would tell what is masked. */
export async function previewForget(db: Db, viewer: Viewer, what: ForgetWhat): Promise<ForgetPreview> {
  const scope = scopeOf(what, viewer);
  if (!may(viewer, "reveal")) assertUnmasked(scope, (await readMasks(db)).of(scope.source), viewer);
  const rest = { archivedEvents: await countArchived(db, scope), objects: await countObjects(db, scope) };
  const unknown = { events: null, kept: null, keptByReason: {}, ...rest };
  try {
    return await db.transaction(
      async (tx) => {
        const preview: ForgetPreview = { events: 0, kept: 0, keptByReason: {}, ...rest };
        let before: string | null = null;
        for (let page = 0; page < PAGES_MAX; page++) {
          const { events, cursor } = await readMatching(tx, scope, { before, limit: PAGE });
          const kept = await readKept(tx, scope, events);
          preview.events! += events.length - kept.size;
          preview.kept! += kept.size;
          for (const reason of kept.values()) preview.keptByReason[reason] = (preview.keptByReason[reason] ?? 0) + 1;
          if (cursor === null) return preview;
          before = cursor;
        }
        return unknown;
      },
      { statementTimeoutMs: COUNT_MS_MAX, readOnly: true },
    );
  } catch (error) {
    if (!isReadTimeout(error)) throw error;
    return unknown;
  }
}

/** A count would reveal whether an event holds a masked value. The forget itself is audited. */
function assertUnmasked({ key }: ForgetScope, set: MaskSet, viewer: Viewer): void {
  const isMasked =
    "tag" in key
      ? maskValue(key.tag.name, key.tag.value, set) !== key.tag.value
      : "payload" in key &&
        (ruleOfPlace(set, segmentsOf(key.payload.pointer)) !== null ||
          maskText(key.payload.value, set) !== key.payload.value);
  if (isMasked) assertMay(viewer, "reveal");
}

/** null = only the objects know. */
async function countArchived(db: Queryable, { key, source, fromMs, toMs }: ForgetScope): Promise<number | null> {
  if (!("aggregateId" in key)) return null;
  const bound = (ms: number | null) => (ms === null ? null : uuidv7LowerBound(ms));
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from archived_events a
      where a.aggregate_id = $1 and ($2::text is null or a.aggregate_type = $2) and ($3::text is null or a.source = $3)
        and ($4::uuid is null or a.id >= $4) and ($5::uuid is null or a.id < $5)`,
    [key.aggregateId, key.aggregateType ?? null, source, bound(fromMs), bound(toMs)],
  );
  return row!.n;
}
