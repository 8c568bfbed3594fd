import type { Control, ControlScope } from "@/lib/order/controls/control.pure";

type Cause = Omit<Control, "id" | "aggregateType" | "expiresAtMs"> & { reason: string; createdBy: string };

/** The control that decides over an event: `blacklisted by maria (error code TIMEOUT in orders): broken producer`. */
export function controlCause({ kind, origin, createdBy, scope, value, source, reason }: Cause): string {
  const done = { blacklist: "blacklisted", cooldown: "cooling", whitelist: "let through its cooldown" }[kind];
  const by = origin === "automatic" ? "Parkade, after it kept failing" : createdBy;
  return `${done} by ${by} (${SCOPE_WORDS[scope]} ${value}${source === null ? "" : ` in ${source}`}): ${reason}`;
}

const SCOPE_WORDS: Record<ControlScope, string> = {
  eventId: "event",
  aggregateId: "aggregate",
  errorCode: "error code",
  source: "source",
};
