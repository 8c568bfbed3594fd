import { fromBase64 } from "@/components/events/payload/hex-lines";
import type { EventDetail, ListedEvent } from "@/lib/events/events.shapes";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { whyKept } from "@/lib/keep/removal/removal.pure";
import { controlCause } from "@/lib/order/controls/control.pure";
import { isJson } from "@/lib/platform/plain/json-text.pure";
import { isJsonType, whyNotPlain } from "@/lib/sources/schemas/body-form.pure";
import { REFUSAL_TEXT } from "@/lib/states/refusal.pure";

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

/** Why the event cannot be edited now, as a sentence; null = it can. `event`: as it is shown, masked or revealed. */
export function whyNotEdit(event: Pick<EventDetail, "status" | "body" | "headers">): string | null {
  const masked = event.body.masked || event.headers.some(([, value]) => value?.includes(REDACTED));
  return whyNotRevise(event) ?? (masked ? MASKED : null);
}

const MASKED =
  "Some of its values are masked, and editing needs all of them: reveal the event first. If you lack the permission “reveal”, ask an administrator.";

/** Why no other revision of the event can become the current one, as a sentence; null = one can. */
export function whyNotRevise({ status }: Pick<EventDetail, "status">): string | null {
  switch (status) {
    case "QUEUED":
      return "It is queued in a redrive, which sends the frozen revision: cancel that redrive, or wait until it ends.";
    case "REDRIVEN":
      return "It was redriven and has not bounced: what was sent can no longer be changed.";
    case "PENDING":
    case "IGNORED":
      return null;
  }
}

/**
 * Whether a redrive of the event asks first, as far as its page knows: the dialog holds what must be confirmed. Of a payload that
 * is masked as a whole nothing is known.
 */
export function asksFirst(event: Pick<EventDetail, "admission" | "body" | "headers" | "origin">): boolean {
  const { admission, body, headers, origin } = event;
  if (admission === "early" || admission === "confirm") return true;
  const { contentType, text } = body;
  if (body.maskedCount === null || !isJsonType(contentType) || (text !== null && isJson(text))) return false;
  return whyNotPlain({ payload: fromBase64(body.base64), contentType, headers, origin }) === null;
}

const KEPT_WORDS: Record<NonNullable<ReturnType<typeof whyKept>>, string> = {
  "not-settled": "ignore it first",
  "in-redrive": "it is in a redrive",
  unconfirmed: "not confirmed yet",
};

/** Why the event cannot be removed into the archive now, in a few words for a menu; null = it can. */
export function whyNotRemove({ status, confirmedAt }: Pick<ListedEvent, "status" | "confirmedAt">): string | null {
  const kept = whyKept({ status, confirmed: confirmedAt !== null });
  return kept === null ? null : KEPT_WORDS[kept];
}

/** The last redrive that its history names; null = none. */
export function lastRedrive({ history }: Pick<EventDetail, "history">): string | null {
  return history.findLast(({ redriveId }) => redriveId !== null)?.redriveId ?? null;
}
