import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { waitForDestroyers } from "@/lib/keep/holds/held.read";
import type { StoredHold } from "@/lib/keep/holds/holds.read";
import type { HoldRequest } from "@/lib/keep/holds/holds.shapes";
import { insertHold } from "@/lib/keep/holds/holds.write";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/**
 * Places a legal hold: while it is in force, no event that it covers is removed, expired or forgotten, in the store or in the
 * archive. It is in force when this resolves; a chunk of a removal that was under way may still move events into the archive,
 * where the hold covers them. Returns its id. Throws DomainError `forbidden`, `invalid-window` for a `to` that is not after `from`.
 */
export async function placeHold(
  { db, clock }: Pick<Deps, "db" | "clock">,
  request: HoldRequest,
  viewer: Viewer,
): Promise<string> {
  const { scope, reason } = request;
  assertMay(viewer, "hold", scope.source === undefined ? "all" : [scope.source]);
  const [fromMs, toMs] = [msOf(request.from), msOf(request.to)];
  if (fromMs !== null && toMs !== null && toMs <= fromMs) {
    throw new DomainError("invalid-window", "to: must be after from", {
      fields: [{ field: "to", detail: "give a time after from, or leave one of them out" }],
    });
  }
  const atMs = clock.wallMs();
  const id = uuidv7(atMs);
  await db.transaction(async (tx) => {
    await waitForDestroyers(tx);
    await insertHold(tx, { id, ...storedHold(scope), fromMs, toMs, reason, createdBy: viewer.name, atMs });
    await appendAudit(tx, {
      actor: viewer.name,
      action: "hold.placed",
      subjectKind: "hold",
      subjectId: id,
      reason,
      before: null,
      after: { scope, from: request.from ?? null, to: request.to ?? null },
      count: 1,
      atMs,
    });
  });
  return id;
}

function msOf(time: string | null | undefined): number | null {
  return time ? Date.parse(time) : null;
}

/** A source beside another scope restricts that scope to the source; alone, the source is the scope. */
function storedHold(asked: HoldRequest["scope"]): StoredHold {
  const rest = { tag: null, aggregateType: null, source: asked.source ?? null };
  if ("eventId" in asked) return { ...rest, scope: "eventId", value: asked.eventId };
  if ("aggregateId" in asked) {
    return { ...rest, scope: "aggregateId", value: asked.aggregateId, aggregateType: asked.aggregateType ?? null };
  }
  if ("tag" in asked) return { ...rest, scope: "tag", value: asked.tag.value, tag: asked.tag.name };
  if ("errorCode" in asked) return { ...rest, scope: "errorCode", value: asked.errorCode };
  return { ...rest, scope: "source", value: asked.source, source: null };
}
