import { readPayload, readRevealedEvent, type StoredPayload } from "@/lib/events/detail/event-detail.read";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { RevealRequest } from "@/lib/guard/masking/mask-rules.shapes";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { readRevealedRevisions } from "@/lib/repair/revisions/event-revisions.read";
import type { RevealedEvent } from "./reveal.shapes";

type RevealDeps = Pick<Deps, "db" | "clock">;

/**
 * One event as it is stored. The audit holds who revealed it and why, in the transaction that reads it: what is not audited is
 * not shown. Throws DomainError `unknown-event`, `unknown-revision`, `forbidden`.
 */
export async function revealEvent(
  { db, clock }: RevealDeps,
  { id, reason, revisions = [] }: RevealRequest & { id: string },
  viewer: Viewer,
): Promise<RevealedEvent> {
  assertMay(viewer, "reveal");
  const atMs = clock.wallMs();
  return db.transaction(async (tx) => {
    const event = await readRevealedEvent(tx, viewer, id, atMs);
    assertMay(viewer, "reveal", [event.source]);
    const details =
      revisions.length === 0 ? [] : await readRevealedRevisions(tx, viewer, { id, revisions: [...new Set(revisions)] });
    await auditReveal(tx, viewer, {
      id,
      reason,
      atMs,
      shown: { revisions: [...new Set([event.revision, ...revisions])] },
    });
    return { event, revisions: details };
  });
}

/** The exact bytes of a payload, audited as `revealEvent` is. Throws DomainError as `readPayload`. */
export async function revealPayload(
  { db, clock }: RevealDeps,
  { id, reason, revision }: { id: string; reason: string; revision: number | null },
  viewer: Viewer,
): Promise<StoredPayload> {
  assertMay(viewer, "reveal");
  const atMs = clock.wallMs();
  return db.transaction(async (tx) => {
    const payload = await readPayload(tx, viewer, id, revision);
    await auditReveal(tx, viewer, { id, reason, atMs, shown: { payload: revision ?? "current" } });
    return payload;
  });
}

type Reveal = { id: string; reason: string; atMs: number; shown: Record<string, unknown> };

async function auditReveal(tx: Tx, viewer: Viewer, { id, reason, atMs, shown }: Reveal): Promise<void> {
  await appendAudit(tx, {
    actor: viewer.name,
    action: "event.revealed",
    subjectId: id,
    reason,
    after: shown,
    atMs,
    eventIds: [id],
  });
}
