import { type Check, REPEATS_NOTHING } from "@/lib/redrive/gate/dry-run.pure";

type Said = Pick<Check, "ok" | "detail">;

/** What a check says of nearly every event: it is stored by name alone. */
const USUAL: Record<string, Said> = {
  "payload-parses": { ok: true, detail: "valid JSON" },
  "payload-schema": { ok: null, detail: "not checked: there is no schema for the event's source and type" },
  "version-order": { ok: true, detail: "no newer version of the aggregate was processed" },
  "aggregate-head": { ok: true, detail: "nothing earlier holds it" },
  inbox: { ok: true, detail: "no consumer has reported it" },
  repeats: { ok: true, detail: REPEATS_NOTHING },
};

/**
 * What every event that is sent has passed, stored as one word instead of 300 bytes. What three of these checks said of the event is not
 * kept. Another check needs another word: items that are stored never made it.
 */
const OF_SENT: Record<string, Said> = {
  "payload-parses": USUAL["payload-parses"]!,
  "payload-size": { ok: true, detail: "within the limit" },
  "target-reachable": { ok: true, detail: "reachable when it was checked" },
  breaker: { ok: true, detail: "closed when it was checked" },
  "version-order": USUAL["version-order"]!,
  "aggregate-head": USUAL["aggregate-head"]!,
  inbox: USUAL.inbox!,
};

/** Stands for all of OF_SENT. */
const PASSED = "passed";

/** A check as an item keeps it: the name of one that says what is usual, else whole. */
export type StoredCheck = string | Check;

/** @param sent the event was delivered */
export function storedChecks(checks: readonly Check[], sent: boolean): StoredCheck[] {
  const stored = checks.map((check) => (isUsual(check) ? check.check : check));
  const passed = new Set(checks.filter((check) => saysNoMore(check, OF_SENT[check.check])).map(({ check }) => check));
  if (!sent || passed.size < Object.keys(OF_SENT).length) return stored;
  return [PASSED, ...stored.filter((_, index) => !passed.has(checks[index]!.check))];
}

function isUsual(check: Check): boolean {
  return USUAL[check.check] !== undefined && saysNoMore(check, USUAL[check.check]);
}

/** Its result is the usual one, with the usual words where there are some, and nothing to add. */
function saysNoMore({ check, ok, detail, warning, fix, pointer }: Check, usual: Said | undefined): boolean {
  if (usual === undefined || ok !== usual.ok || (warning ?? fix ?? pointer) !== undefined) return false;
  return (USUAL[check]?.detail ?? detail) === detail;
}

/** The checks of an item; one of a name that this version does not know says nothing more. */
export function checksOf(stored: readonly StoredCheck[]): Check[] {
  return stored.flatMap((check) => {
    if (typeof check !== "string") return [check];
    if (check === PASSED) return Object.entries(OF_SENT).map(([name, said]) => ({ check: name, ...said }));
    return [{ check, ...(USUAL[check] ?? { ok: true, detail: "passed" }) }];
  });
}
