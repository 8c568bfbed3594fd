import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

/**
 * The states of an event's bytes, by number. Revision 1 is what arrived first. A bounce that brings other bytes, a letter that
 * arrives with other bytes, an edit and a mend each add one; none is ever changed, and no number is used twice. One revision is the current one: lists show
 * it, and a redrive freezes it. Restoring another one, or undoing a mend, moves that choice and copies no bytes, so that
 * the key of a send (`redrive/run/send-key.pure.ts`) stands for the same bytes for ever.
 */
export const REVISION_CAUSES = ["arrived", "bounce", "edit", "mend"] as const;
export type RevisionCause = (typeof REVISION_CAUSES)[number];

/** An event that is queued has a frozen revision, and one that was redriven is not parked. */
export const REVISABLE_STATUSES = ["PENDING", "IGNORED"] as const satisfies readonly EventStatus[];

/** Why an event is not revised. */
export type RevisionRefusal = "event-queued" | "already-redriven" | "stale-revision" | "unknown-revision" | "not-found";

/** Is the revision that a bounce brings the current one? Not when somebody chose another one after the send. */
export function bounceBecomesCurrent({ sent, current }: { sent: number; current: number }): boolean {
  return sent === current;
}

/** An edit replaces bytes as a whole, so users who may not reveal change no event of which they see a part alone. */
export function maskedRefusal({ name }: Pick<Viewer, "name">, subject: string): DomainError {
  return new DomainError(
    "forbidden",
    `${subject} masked values, and ${name} may not reveal them: ask an administrator for the right "reveal", or a user who has it for the change`,
    { fields: [{ field: "action", detail: "reveal" }] },
  );
}
