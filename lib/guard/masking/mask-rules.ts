import { Noun, type NounDeps } from "@/lib/guard/noun";
import { readSourceId } from "@/lib/guard/viewer/source-names.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { type MaskKind, patternFault } from "./mask-rule.pure";
import { forgetMasks } from "./mask-rules.read";
import { type MaskRuleChange, type MaskRuleOut, type MaskRuleRequest, maskRuleSchema } from "./mask-rules.shapes";

export const MASK_RULES = new Noun<MaskRuleOut>({
  table: "mask_rules",
  schema: maskRuleSchema,
  seen: "($1::text[] is null or t.source is null or t.source = any($1))",
  order: "t.kind, t.pattern, t.source nulls first",
  key: "id",
  subject: "mask-rule",
  verbs: { create: "added", remove: "removed" },
  needs: "change-masks",
  sourcesOf: ({ source }) => (source === null ? null : [source]),
  audited: ({ kind, pattern, source, enabled }) => ({ kind, pattern, source, enabled }),
  unknown: (id) => ["unknown-mask-rule", `There is no mask rule ${id}`, "list rules with GET /api/v1/mask-rules"],
  taken: ({ pattern }) =>
    new DomainError("name-taken", `There is already a rule for ${JSON.stringify(pattern)}: change that one`, {
      fields: [{ field: "pattern", detail: "has a rule of this kind and source" }],
    }),
});

/** Throws DomainError `forbidden`, `unknown-source`, `invalid-mask-rule`, `name-taken`. */
export function addMaskRule(deps: NounDeps, request: MaskRuleRequest, viewer: Viewer): Promise<MaskRuleOut> {
  const { kind, pattern, source = null, enabled } = request;
  return changing(
    MASK_RULES.create(deps, { set: { kind, pattern, source, enabled } }, viewer, async (tx) => {
      if (source !== null) await readSourceId(tx, viewer, source);
      assertPattern(kind, pattern);
      return {};
    }),
  );
}

/** Throws DomainError `forbidden`, `unknown-mask-rule`, `invalid-mask-rule`, `name-taken`. */
export function changeMaskRule(
  deps: NounDeps,
  { id, ...set }: MaskRuleChange & { id: string },
  viewer: Viewer,
): Promise<MaskRuleOut> {
  return changing(
    MASK_RULES.change(deps, { key: id }, viewer, (_, stored) => {
      const { pattern = stored.pattern, enabled = stored.enabled } = set;
      assertPattern(stored.kind, pattern);
      return pattern === stored.pattern && enabled === stored.enabled ? null : { set };
    }),
  );
}

/** Throws DomainError `forbidden`, `unknown-mask-rule`. */
export function removeMaskRule(deps: NounDeps, id: string, viewer: Viewer): Promise<void> {
  return changing(MASK_RULES.remove(deps, { key: id }, viewer));
}

function assertPattern(kind: MaskKind, pattern: string): void {
  const fault = patternFault(kind, pattern);
  if (fault !== null) throw invalidFields([{ field: "pattern", detail: fault }], "invalid-mask-rule");
}

function changing<T>(change: Promise<T>): Promise<T> {
  return change.finally(forgetMasks);
}
