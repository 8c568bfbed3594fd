import { readTrialEvent } from "@/lib/events/detail/event-detail.read";
import { maskBody, maskHeaders } from "@/lib/guard/masking/mask.pure";
import { type MaskRule, type MaskSet, masksOf, patternFault, setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readRulesInForce } from "@/lib/guard/masking/mask-rules.read";
import type { MaskTrial, MaskTrialRequest } from "@/lib/guard/masking/mask-rules.shapes";
import { assertMay, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { invalidFields } from "@/lib/platform/plain/problem.pure";

/**
 * What the rules mask in a sample, or in a stored event, and which rule each value; with a rule that is not stored, too. An event is
 * shown masked by the rules in force as well, so that a trial without one of them reveals nothing. Stores nothing. Throws DomainError
 * `unknown-event`, `invalid-mask-rule`, `invalid-request`, `forbidden`.
 */
export async function tryMasking(
  db: Queryable,
  { text, eventId, source, rule }: MaskTrialRequest,
  viewer: Viewer,
): Promise<MaskTrial> {
  // What is masked in a source reveals what its events contain.
  assertMay(viewer, "view", source === undefined ? [] : [source]);
  if ((text === undefined) === (eventId === undefined))
    throw invalidFields([{ field: "text", detail: "or eventId must be given, and not both" }]);
  const fault = rule && patternFault(rule.kind, rule.pattern);
  if (fault) throw invalidFields([{ field: "rule.pattern", detail: fault }], "invalid-mask-rule");
  const rules = await readRulesInForce(db);
  if (eventId === undefined) {
    const set = masksOf(withRule(rules, rule, source ?? null)).of(source ?? null);
    return { ...maskBody(text!, set), headers: [] };
  }
  const event = await readTrialEvent(db, viewer, eventId);
  const inForce = masksOf(rules).of(event.source);
  const tried = setFor(
    both(inForce, masksOf(withRule(rules, rule, event.source)).of(event.source)),
    may(viewer, "reveal"),
  );
  const body =
    event.text === null ? { text: "", count: null, places: [{ at: "", by: "no text" }] } : maskBody(event.text, tried);
  return { ...body, headers: maskHeaders(event.headers, tried) };
}

function withRule(rules: readonly MaskRule[], rule: MaskTrialRequest["rule"], source: string | null): MaskRule[] {
  if (rule === undefined) return [...rules];
  const tried = { ...rule, source };
  return [
    ...rules.filter(({ kind, pattern, source: of }) => kind !== rule.kind || pattern !== rule.pattern || of !== source),
    tried,
  ];
}

/** What either masks. */
function both(one: MaskSet, other: MaskSet): MaskSet {
  return {
    detectors: new Set([...one.detectors, ...other.detectors]),
    keys: [...new Set([...one.keys, ...other.keys])],
    pointers: [...one.pointers, ...other.pointers],
    pointerNames: [...one.pointerNames, ...other.pointerNames],
    wholeTexts: one.wholeTexts || other.wholeTexts,
  };
}
