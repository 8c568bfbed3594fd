import type { SchemaFault } from "@/lib/sources/schemas/schema-fault.pure";
import { type ConfirmableRefusal, type DryRunRefusal, REFUSAL_FIX, type Refusal } from "@/lib/states/refusal.pure";

export type DryRunFacts = OrderFacts & {
  payload: {
    bytes: number;
    bytesMax: number;
    parses: { ok: boolean | null; detail: string };
    /** `tooSlow`: the check against the schema took longer than its time limit. */
    schema: { ok: boolean | null; detail: string; tooSlow?: boolean; faults?: readonly SchemaFault[] };
  };
  /** `fault`: the reason why nothing can be sent to this target. */
  target:
    | {
        name: string;
        reachable: boolean | null;
        detail: string;
        breakerOpen: boolean;
        breakerDetail?: string;
        /** It may get an event again that may have arrived. */
        retryable: boolean;
      }
    | { fault: string };
  version: bigint | null;
  /** Its headers that the target's protocol cannot carry, in quotation marks: a send leaves them out. */
  leftOut: readonly string[];
  /** The refusals that a person set aside for this redrive. */
  despite: readonly ConfirmableRefusal[];
};

/** The stored facts about the place of an event in its aggregate. */
export type OrderFacts = {
  /**
   * Newest version of the aggregate that its consumer has processed. A version that is only delivered may still come
   * back.
   */
  versionProcessed: bigint | null;
  /** The earlier event of the aggregate that holds this event back, in words; null = none. */
  heldBy: string | null;
  /** An earlier event of the aggregate has an open item in another redrive: this event waits until that item ends. */
  waits: boolean;
  processedBy: string[];
};

export type Check = {
  check: string;
  /** null = the check was not made, and `detail` says why. */
  ok: boolean | null;
  detail: string;
  /** It passed, and a person should know what `detail` says before the send. */
  warning?: boolean;
  /** Of a failed check: what a person can do about it. */
  fix?: string;
  /** JSON pointer to the place in the payload; "" = the whole payload. */
  pointer?: string;
};

type Verdict =
  | { kind: "send"; findings: Check[] }
  /** Every check passes except the order: the item stays open and waits behind the one before it. */
  | { kind: "wait"; findings: Check[] }
  | { kind: "already-processed"; findings: Check[]; detail: string }
  | { kind: "refuse"; findings: Check[]; refusal: DryRunRefusal; detail: string };

type Ruled = Check & { refusal: DryRunRefusal };

/**
 * The checks before a send. All of them run, so that a person sees every fault at once; the first check that fails
 * names the refusal. An event that its consumer has already processed is closed as done, whatever the other checks say.
 */
export function dryRun(facts: DryRunFacts): Verdict {
  const ruled = [
    ...payloadChecks(facts.payload, facts.despite.includes("payload-unparsable")),
    ...targetChecks(facts.target),
    ...orderChecks(facts),
  ];
  const inbox = inboxCheck(facts.processedBy);
  const findings = [
    ...ruled.map(({ refusal, ...check }) => withFix(check, refusal)),
    inbox,
    ...repeatsCheck(facts.target),
    ...headersCheck(facts.leftOut),
  ];
  if (!inbox.ok) return { kind: "already-processed", findings, detail: inbox.detail };
  const failed = ruled.find((finding) => finding.ok === false);
  if (failed) return { kind: "refuse", findings, refusal: failed.refusal, detail: failed.detail };
  // An earlier event of the aggregate is open: in another redrive, or in this one while it waits.
  return { kind: facts.waits ? "wait" : "send", findings };
}

/** A failed check says what to do. */
export function withFix(check: Check, refusal: Refusal): Check {
  return check.ok === false && check.fix === undefined ? { ...check, fix: REFUSAL_FIX[refusal] } : check;
}

/** `asItIs`: a person confirmed that a payload which does not parse is sent. A schema cannot judge what does not parse. */
function payloadChecks({ bytes, bytesMax, parses, schema }: DryRunFacts["payload"], asItIs: boolean): Ruled[] {
  const confirmed = parses.ok === false && asItIs;
  return [
    confirmed
      ? {
          check: "payload-parses",
          ok: true,
          warning: true,
          detail: `${parses.detail}; sent unchanged, as confirmed`,
          refusal: "payload-unparsable",
        }
      : { check: "payload-parses", ...parses, refusal: "payload-unparsable" },
    {
      check: "payload-schema",
      ...(confirmed
        ? { ok: null, detail: `not checked: ${parses.detail}` }
        : { ok: schema.ok, detail: schema.detail, ...placeOf(schema.faults?.[0]) }),
      refusal: schema.tooSlow ? "schema-timeout" : "schema-mismatch",
    },
    {
      check: "payload-size",
      ok: bytes <= bytesMax,
      detail: bytes <= bytesMax ? `${bytes} of at most ${bytesMax} bytes` : `${bytes} bytes, at most ${bytesMax}`,
      refusal: "payload-too-large",
    },
  ];
}

function placeOf(fault: SchemaFault | undefined): Pick<Check, "fix" | "pointer"> {
  return fault ? { fix: fault.fix, pointer: fault.pointer } : {};
}

function targetChecks(target: DryRunFacts["target"]): Ruled[] {
  if ("fault" in target) return [{ check: "target", ok: false, detail: target.fault, refusal: "no-target" }];
  return [
    { check: "target-reachable", ok: target.reachable, detail: target.detail, refusal: "target-unreachable" },
    {
      check: "breaker",
      ok: !target.breakerOpen,
      detail: target.breakerDetail ?? `the breaker of ${target.name} is ${target.breakerOpen ? "open" : "closed"}`,
      refusal: "breaker-open",
    },
  ];
}

export const REPEATS_NOTHING = "the target is not marked as repeatable: only a send that never reached it is retried";

export function supersededText(version: bigint, versionProcessed: bigint): string {
  return `version ${versionProcessed} of the aggregate was already processed; this is version ${version}`;
}

function orderChecks({
  version,
  versionProcessed,
  heldBy,
}: Pick<DryRunFacts, "version" | "versionProcessed" | "heldBy">): Ruled[] {
  const superseded = version !== null && versionProcessed !== null && versionProcessed > version;
  return [
    {
      check: "version-order",
      ok: !superseded,
      detail: superseded
        ? supersededText(version, versionProcessed)
        : "no newer version of the aggregate was processed",
      refusal: "version-superseded",
    },
    {
      check: "aggregate-head",
      ok: heldBy === null,
      detail: heldBy ?? "nothing earlier holds it",
      refusal: "held-by-head",
    },
  ];
}

/** Headers that are shown: a message can have many. */
const LEFT_OUT_MAX = 10;

/** What a send leaves out, for its verdict and for its attempt; null = nothing. */
export function leftOutText(headers: readonly string[]): string | null {
  if (headers.length === 0) return null;
  const more = headers.length > LEFT_OUT_MAX ? ` and ${headers.length - LEFT_OUT_MAX} more` : "";
  const what = headers.length === 1 ? "the header" : "the headers";
  const shown = headers.slice(0, LEFT_OUT_MAX).join(", ");
  return `the target's protocol cannot carry ${what} ${shown}${more}, so sends leave ${headers.length === 1 ? "it" : "them"} out`;
}

function repeatsCheck(target: DryRunFacts["target"]): Check[] {
  if ("fault" in target || target.retryable) return [];
  return [{ check: "repeats", ok: true, detail: REPEATS_NOTHING }];
}

function headersCheck(leftOut: readonly string[]): Check[] {
  const detail = leftOutText(leftOut);
  return detail === null ? [] : [{ check: "headers", ok: true, warning: true, detail }];
}

function inboxCheck(processedBy: string[]): Check {
  return {
    check: "inbox",
    ok: processedBy.length === 0,
    detail: processedBy.length === 0 ? "no consumer has reported it" : `already processed by ${processedBy.join(", ")}`,
  };
}
