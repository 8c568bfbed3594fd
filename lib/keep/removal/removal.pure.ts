import type { EventStatus } from "@/lib/states/event-state.pure";

/**
 * Reasons of a removal's refusals. `holds-later`: later versions of its aggregate wait behind it.
 * `no-body`: what arrived is not stored any more. `not-found`: another removal took it. Of events that expire: `recent`,
 * something happened to it within RECENT_DAYS; `not-due`, a rule of its own keeps it longer.
 */
export type KeptReason =
  | "not-settled"
  | "in-redrive"
  | "unconfirmed"
  | "holds-later"
  | "no-body"
  | "not-found"
  | "recent"
  | "not-due";

/** null = they may: nobody has to act on it (IGNORED, or redriven and confirmed). Other events may come back and count for a redrive. */
export function whyKept({
  status,
  confirmed,
}: {
  status: EventStatus;
  confirmed: boolean;
}): "not-settled" | "in-redrive" | "unconfirmed" | null {
  switch (status) {
    case "IGNORED":
      return null;
    case "REDRIVEN":
      return confirmed ? null : "unconfirmed";
    case "QUEUED":
      return "in-redrive";
    case "PENDING":
      return "not-settled";
  }
}
