"use client";

import { DraftDialog } from "@/components/ui/draft-dialog";
import { TextField } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { DETECTORS, type MaskKind, patternFault } from "@/lib/guard/masking/mask-rule.pure";
import type { MaskRuleOut } from "@/lib/guard/masking/mask-rules.shapes";
import { maskRules } from "@/lib/guard/masking/masking.browser";

const KINDS: { value: MaskKind; label: string }[] = [
  { value: "key", label: "a field name" },
  { value: "pointer", label: "a JSON pointer" },
  { value: "detector", label: "a built-in detector" },
];
const HINTS: Record<MaskKind, string> = {
  key: "Fields, headers, tags and names in text, ignoring case; * matches any text: *email",
  pointer: "One position in the payload; * matches any one name or index: /items/*/email",
  detector: "Switches a detector off, or on again for one source.",
};

const STATES = [
  { value: "on", label: "on: it masks" },
  { value: "off", label: "off" },
];

/** `rule` null: a new one. */
export function MaskRuleDialog({ rule, onClose }: { rule: MaskRuleOut | null; onClose: () => void }) {
  const create = maskRules.useCreate();
  const patch = maskRules.usePatch(rule?.id ?? "");
  return (
    <DraftDialog
      needs="change-masks"
      by={({ source }) => ({ everySource: rule === null ? source.trim() === "" : rule.source === null })}
      title={rule === null ? "Add a mask rule" : "Change a mask rule"}
      description="Applies to everyone, and to events that are already stored."
      verb={rule === null ? "Add rule" : "Save"}
      reason="none"
      initial={() => ({
        kind: rule?.kind ?? ("key" as MaskKind),
        pattern: rule?.pattern ?? "",
        source: "",
        state: (rule?.enabled ?? true) ? "on" : "off",
      })}
      request={({ kind, pattern: typed, source, state }) => {
        const pattern = typed.trim();
        const fault = patternFault(kind, pattern);
        if (fault !== null) return { ok: false, errors: { pattern: fault } };
        return { ok: true, request: { kind, pattern, enabled: state === "on", source: source.trim() || undefined } };
      }}
      save={async ({ kind, source, ...change }) => {
        await (rule === null ? create.mutateAsync({ kind, ...change, source }) : patch.mutateAsync(change));
        return { title: rule === null ? "The rule is in force" : "The rule was changed" };
      }}
      onClose={onClose}
    >
      {({ draft: { kind }, set, text }) => (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
          {rule === null ? (
            <SelectField
              label="Mask by"
              options={KINDS}
              value={kind}
              onValue={(value) => {
                const isDetector = value === "detector";
                set({
                  kind: value as MaskKind,
                  pattern: isDetector ? DETECTORS[0] : "",
                  state: isDetector ? "off" : "on",
                });
              }}
            />
          ) : null}
          {kind === "detector" ? (
            <SelectField
              {...text("pattern")}
              label="Detector"
              hint={HINTS.detector}
              options={DETECTORS.map((value) => ({ value, label: value }))}
            />
          ) : (
            <TextField {...text("pattern")} label="Pattern" hint={HINTS[kind]} maxLength={512} />
          )}
          {rule === null ? (
            <TextField
              {...text("source")}
              label="Source"
              optional
              hint="Leave empty for all sources."
              maxLength={200}
            />
          ) : null}
          <SelectField {...text("state")} label="State" options={STATES} />
        </div>
      )}
    </DraftDialog>
  );
}
