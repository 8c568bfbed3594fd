import type { EventDetail } from "@/lib/contract/events";
import { REFUSAL_TEXT } from "@/lib/core/refusal";

type Facts = Pick<EventDetail, "status" | "controls" | "cooldownUntil">;

/** Why a redrive of this event would be refused at once, as a sentence; null when it would go. The server decides. */
export function whyNotRedrive(event: Facts, nowMs: number): string | null {
  switch (event.status) {
    case "QUEUED":
      return `It ${REFUSAL_TEXT["already-queued"]}.`;
    case "REDRIVEN":
      return `It ${REFUSAL_TEXT["already-redriven"]}.`;
    case "IGNORED":
      return `It ${REFUSAL_TEXT.ignored}.`;
    case "PENDING":
      break;
  }
  if (event.controls.some((control) => control.kind === "blacklist")) return `It ${REFUSAL_TEXT.blacklisted}.`;
  const whitelisted = event.controls.some((control) => control.kind === "whitelist");
  const cooling =
    (event.cooldownUntil !== null && Date.parse(event.cooldownUntil) > nowMs) ||
    event.controls.some((control) => control.kind === "cooldown");
  return cooling && !whitelisted ? `It ${REFUSAL_TEXT.cooling}.` : null;
}
