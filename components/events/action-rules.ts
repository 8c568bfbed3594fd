import type { ListedEvent } from "@/lib/contract/events";
import { REFUSAL_TEXT } from "@/lib/core/refusal";
import { controlCause } from "./event-state";

type Facts = Pick<ListedEvent, "status" | "control" | "cooldownUntil">;

/** Why a redrive of this event would be refused at once, as a sentence; null = unknown. The server decides. */
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
  const { control } = event;
  if (control?.kind === "whitelist") return null;
  if (control) return `It is ${controlCause(control)}`;
  const cooling = event.cooldownUntil !== null && Date.parse(event.cooldownUntil) > nowMs;
  return cooling ? `It ${REFUSAL_TEXT.cooling}.` : null;
}
