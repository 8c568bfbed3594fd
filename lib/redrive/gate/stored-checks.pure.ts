import { type Check, REPEATS_NOTHING } from "@/lib/redrive/gate/dry-run.pure";

/** What a check says of nearly every event. An item that is sent keeps its checks: most of them are stored by name alone. */
const USUAL: Record<string, Pick<Check, "ok" | "detail">> = {
  "payload-parses": { ok: true, detail: "valid JSON" },
  "payload-schema": { ok: null, detail: "not checked: there is no schema for the event's source and type" },
  "version-order": { ok: true, detail: "no newer version of the aggregate was processed" },
  "aggregate-head": { ok: true, detail: "nothing earlier holds it" },
  inbox: { ok: true, detail: "no consumer has reported it" },
  repeats: { ok: true, detail: REPEATS_NOTHING },
};

/** A check as an item keeps it: the name of one that says what is usual, else whole. */
export type StoredCheck = string | Check;

export function storedChecks(checks: readonly Check[]): StoredCheck[] {
  return checks.map((check) => (isUsual(check) ? check.check : check));
}

function isUsual({ check, ok, detail, warning, fix, pointer }: Check): boolean {
  const usual = USUAL[check];
  return usual?.ok === ok && usual.detail === detail && (warning ?? fix ?? pointer) === undefined;
}

/** The checks of an item; one of a name that this version does not know says nothing more. */
export function checksOf(stored: readonly StoredCheck[]): Check[] {
  return stored.map((check) =>
    typeof check === "string" ? { check, ...(USUAL[check] ?? { ok: true, detail: "passed" }) } : check,
  );
}
