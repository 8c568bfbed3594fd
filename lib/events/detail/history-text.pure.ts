/** One line of text for each entry of an event's history. */

type AuditValues = Record<string, unknown>;

const text = (value: unknown): string | null =>
  typeof value === "string" || typeof value === "number" ? String(value) : null;

/** The line for an audit entry about events. */
export function auditText(action: string, before: AuditValues, after: AuditValues): string {
  switch (action) {
    case "event.parked":
      return "Parked";
    case "event.bounced":
      return bounceText(before, after);
    case "event.changed":
      return changedText(before, after);
    case "event.queued":
      return "Queued for a redrive";
    case "event.redriven":
      return redrivenText(after);
    case "event.failed":
      return withResult("Failed", after);
    case "event.refused":
      return withResult("Refused", after);
    case "event.verified":
      return "Verified: nothing was sent";
    case "event.confirmed":
      return "Confirmed as processed";
    case "event.ignored":
      return "Ignored";
    case "event.released":
      return "Released";
    case "event.edited":
      return `Edited: revision ${after.revision}, made from ${before.revision}`;
    case "event.revealed":
      return "Masked values were revealed";
    case "event.restored":
      return `Revision ${after.revision} restored, in place of ${before.revision}`;
    case "event.imported":
      return "Restored from an export or from the archive";
    case "event.removed":
      return "Removed into the archive";
    case "event.expired":
      return "Expired into the archive";
    case "event.mended":
      return "Mended by a recipe";
    case "event.mend-undone":
      return "A mend was undone";
    case "event.skipped":
      return "Skipped: it no longer holds the later versions";
    case "event.unskipped":
      return "Holds the later versions again";
    case "event.withdrawn":
      return "Taken out of a redrive";
    default:
      return action.replace(/^event\./, "").replaceAll("-", " ");
  }
}

function withResult(what: string, after: AuditValues): string {
  const result = text(after.result);
  const ignored = after.status === "IGNORED" ? "; now ignored" : "";
  return `${result === null ? what : `${what}: ${result}`}${ignored}`;
}

function changedText(before: AuditValues, after: AuditValues): string {
  const stays = after.current === false ? `; revision ${before.revision} stays the current one` : "";
  return `Arrived with other bytes: revision ${after.revision}${stays}`;
}

function redrivenText(after: AuditValues): string {
  const sent = after.result === "DEDUPLICATED" ? "Deduplicated: its target had it already" : "Sent";
  // A bounce, or newer bytes, can arrive before the end of its send is recorded.
  return after.status === "PENDING" ? `${sent}; it had already been parked again` : sent;
}

function bounceText(before: AuditValues, after: AuditValues): string {
  if (after.failed === false) return `Parked again: arrived after all${broughtText(after)}`;
  const [was, is] = [text(before.errorCode), text(after.errorCode)];
  const change = was !== null && is !== null && was !== is ? `, now as ${is} instead of ${was}` : "";
  return `Bounced for the ${ordinal(Number(after.bounces))} time${change}${broughtText(after)}`;
}

function broughtText({ revision, current }: AuditValues): string {
  if (revision === undefined) return "";
  const kept = current === true ? "" : ", beside the one that somebody chose meanwhile";
  return `, with other bytes: revision ${revision}${kept}`;
}

function ordinal(n: number): string {
  const last = n % 100 >= 11 && n % 100 <= 13 ? 0 : n % 10;
  return `${n}${last === 1 ? "st" : last === 2 ? "nd" : last === 3 ? "rd" : "th"}`;
}

export type AttemptFacts = {
  attempt: number;
  state: "open" | "delivered" | "failed" | "ambiguous";
  target: string;
  latencyMs: number | null;
  code: string | null;
  /** What the target answered to a failed one; of a delivered one, which headers it was sent without. */
  detail: string | null;
  /** What was sent. */
  revision: number;
  /** Of a delivered one: its target had the event already. */
  deduplicated: boolean;
  /** The reason of the retry engine for not trying again; null = it tried again, or the attempt succeeded. */
  stopped: string | null;
};

const STOPS: Record<string, string> = {
  permanent: "the error is permanent",
  exhausted: "no attempts are left",
  deadline: "no time is left for another attempt",
  budget: "the retry budget of the target is spent",
  "breaker-open": "the breaker of the target opened",
  "bulkhead-full": "the target has no free concurrency slot",
  ambiguous: "it may have arrived, and a retry without an idempotency key could duplicate it",
  "retry-after": "its target asked for a longer wait than its deadline allows",
  "not-retryable": "its target is not marked as repeatable",
  "not-listed": "its policy does not list this error code as retryable",
  overload: "its target accepts too few sends",
  amplified: "its producer's own retries count towards the limit",
};

/** The reason why retrying stopped, in words; null when no decision of the engine stopped it. */
export function stopText(reason: string | null): string | null {
  if (reason === null) return null;
  return Object.hasOwn(STOPS, reason) ? STOPS[reason]! : reason.replaceAll("-", " ");
}

export function attemptText({ stopped, ...facts }: AttemptFacts): string {
  const stop = stopText(stopped);
  return stop === null ? outcomeText(facts) : `${outcomeText(facts)}; not retried: ${stop}`;
}

function outcomeText(facts: Omit<AttemptFacts, "stopped">): string {
  const { attempt, revision, state, target, latencyMs, code, detail, deduplicated } = facts;
  const what = revision === 1 ? `Attempt ${attempt}` : `Attempt ${attempt} of revision ${revision}`;
  const took = latencyMs === null ? "" : ` in ${Math.round(latencyMs)} ms`;
  const answer = code === null ? "" : `: ${code}`;
  switch (state) {
    case "open":
      return `${what} to ${target} under way`;
    case "delivered":
      return `${what} to ${target} ${deduplicated ? "deduplicated" : "sent"}${took}${answer}${detail === null ? "" : `; ${detail}`}`;
    case "failed":
      return `${what} to ${target} failed${took}${answer}`;
    case "ambiguous":
      return `${what} to ${target} without an answer${took}${answer}: the target may have taken it`;
  }
}

export type Finding = {
  check: string;
  ok: boolean | null;
  detail: string;
  warning?: boolean;
  fix?: string;
  pointer?: string;
};

export function verdictText(findings: readonly Finding[]): string {
  const failed = findings.filter((finding) => finding.ok === false);
  if (failed.length === 0) {
    const elsewhere = findings.find(({ check }) => check === "fallback");
    const told = [...(elsewhere ? [elsewhere] : []), ...findings.filter(({ warning }) => warning)];
    const passed = findings.filter(({ ok }) => ok).length - told.length;
    return [`Passed ${passed} ${passed === 1 ? "check" : "checks"}`, ...told.map(({ detail }) => detail)].join("; ");
  }
  return `Refused: ${failed.map((finding) => finding.detail || finding.check).join("; ")}`;
}

export function controlText(kind: string, scope: string, lifted: boolean): string {
  const what = kind === "cooldown" ? "Cooldown" : kind === "blacklist" ? "Blacklist" : "Whitelist";
  return `${what} by ${scope} ${lifted ? "lifted" : "imposed"}`;
}
