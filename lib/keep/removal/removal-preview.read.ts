import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { beforeParked, readHoldingLater } from "@/lib/keep/removal/held-tails.read";
import { type KeptReason, whyKept } from "@/lib/keep/removal/removal.pure";
import type { RemovalPreview } from "@/lib/keep/removal/removal.shapes";
import type { Db } from "@/lib/platform/database/db";
import { isReadTimeout } from "@/lib/platform/database/retrying";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { compileSelection, cutoffOf } from "@/lib/selection/candidates.read";
import { readScopedSelection } from "@/lib/selection/scope.read";
import type { Selection } from "@/lib/selection/selection.shapes";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { EVENT } from "@/lib/states/state.sql";

/** Time limit of the count: beyond it the preview says that it does not know. */
const COUNT_MS_MAX = 4_000;

/** What a removal of this selection would do now. `place`: where the archive lies; null = none is configured. */
export async function previewRemoval(
  db: Db,
  viewer: Viewer,
  { select, nowMs, place }: { select: Selection; nowMs: number; place: string | null },
): Promise<RemovalPreview> {
  const selection = await readScopedSelection(db, viewer, "remove", select);
  const { where, values } = compileSelection(selection, nowMs, 2);
  const cutoff = iso(nowMs);
  try {
    const { rows, holding } = await db.transaction(
      async (tx) => {
        const selected = [cutoffOf(selection, nowMs), ...values];
        const heads = await tx.query<{ id: string; bytes: number }>(
          `select e.id, coalesce(e.payload_bytes, 0) as bytes
             from dlq_event_rows e where e.id <= $1 and ${where} and e.status = ${EVENT.IGNORED} and ${beforeParked()}`,
          selected,
        );
        const holding = await readHoldingLater(
          tx,
          heads.map(({ id }) => id),
        );
        const rows = await tx.query<{
          status: EventStatus;
          confirmed: boolean;
          n: number;
          bytes: number;
        }>(
          `select e.status, e.confirmed_at is not null as confirmed, count(*)::int as n,
                  coalesce(sum(e.payload_bytes), 0)::float8 as bytes
             from dlq_event_rows e where e.id <= $1 and ${where} group by 1, 2`,
          selected,
        );
        return { rows, holding: heads.filter(({ id }) => holding.has(id)) };
      },
      { statementTimeoutMs: COUNT_MS_MAX, readOnly: true },
    );
    const preview: RemovalPreview = {
      ...{ removable: 0, kept: 0, keptByReason: {}, byStatus: {}, bytes: 0, place, cutoff },
    };
    for (const row of rows) {
      const reason = whyKept(row);
      preview.byStatus[row.status] = (preview.byStatus[row.status] ?? 0) + row.n;
      if (reason === null) {
        preview.removable! += row.n;
        preview.bytes! += row.bytes;
        continue;
      }
      preview.kept! += row.n;
      preview.keptByReason[reason] = (preview.keptByReason[reason] ?? 0) + row.n;
    }
    for (const { bytes } of holding) {
      const reason: KeptReason = "holds-later";
      preview.removable!--;
      preview.bytes! -= bytes;
      preview.kept!++;
      preview.keptByReason[reason] = (preview.keptByReason[reason] ?? 0) + 1;
    }
    return preview;
  } catch (error) {
    if (!isReadTimeout(error)) throw error;
    return { removable: null, kept: null, keptByReason: {}, byStatus: {}, bytes: null, place, cutoff };
  }
}
