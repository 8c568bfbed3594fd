import { createHmac, randomBytes } from "node:crypto";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { ForgetRequest, ForgetWhat } from "@/lib/keep/forget/forget.shapes";
import { keyText, kindOf } from "@/lib/keep/forget/forget-key.pure";
import { insertForget } from "@/lib/keep/forget/forgets.write";
import type { ForgetScope } from "@/lib/keep/forget/matching-events.read";
import type { Deps } from "@/lib/lane/deps";
import { answerOnce, type IdempotentRequest } from "@/lib/platform/database/idempotent-request.write";
import { uuidv7 } from "@/lib/platform/ids";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/**
 * Begins to forget what a key names, everywhere: a worker does it. It is not taken back. It touches texts of all sources, so
 * it needs the right for all of them. Throws DomainError `forbidden`, `invalid-window`, `invalid-request` for a pointer
 * without a source and without a window.
 *
 * The audit has a hash of the key under the receipt that is answered: whoever has the receipt can prove whose data it was. Who
 * has the store alone cannot find out by trying names.
 */
export async function forgetData(
  { db, clock }: Pick<Deps, "db" | "clock">,
  request: ForgetRequest & { idempotency: IdempotentRequest | null },
  viewer: Viewer,
): Promise<{ id: string; state: "RUNNING"; receipt: string }> {
  const scope = scopeOf(request, viewer);
  const atMs = clock.wallMs();
  return db.transaction(async (tx) => {
    const { answer } = await answerOnce(tx, request.idempotency, atMs, async () => {
      const id = uuidv7(atMs);
      const kind = kindOf(scope.key);
      const receipt = randomBytes(32);
      const keyHash = createHmac("sha256", receipt).update(keyText(scope.key)).digest("hex");
      const { source, fromMs, toMs } = scope;
      const auditId = await appendAudit(tx, {
        actor: viewer.name,
        action: "data.forgotten",
        subjectKind: "forget",
        subjectId: id,
        reason: request.reason,
        after: { keyKind: kind, keyHash, source, from: isoOrNull(fromMs), to: isoOrNull(toMs) },
        count: 0,
        atMs,
      });
      await insertForget(tx, { id, kind, scope, reason: request.reason, auditId, createdBy: viewer.name, atMs });
      return { id, state: "RUNNING" as const, receipt: receipt.toString("hex") };
    });
    return answer;
  });
}

/** Throws as `forgetData`. */
export function scopeOf(what: ForgetWhat, viewer: Viewer): ForgetScope {
  assertMay(viewer, "forget", "all");
  const [fromMs, toMs] = [msOf(what.from), msOf(what.to)];
  const source = what.source ?? null;
  if (fromMs !== null && toMs !== null && toMs <= fromMs) {
    throw new DomainError("invalid-window", "to: must be after from", {
      fields: [{ field: "to", detail: "give a time after from, or leave one of them out" }],
    });
  }
  if ("payload" in what.key && source === null && (fromMs === null || toMs === null)) {
    throw new DomainError("invalid-request", "source: a pointer is searched for in every payload", {
      fields: [{ field: "source", detail: "name a source, or give from and to" }],
    });
  }
  return { key: what.key, source, fromMs, toMs };
}

function msOf(time: string | null | undefined): number | null {
  return time ? Date.parse(time) : null;
}
