"use client";

import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { DETECTORS, type MaskKind, patternFault } from "@/lib/guard/masking/mask-rule.pure";
import type { MaskRuleOut } from "@/lib/guard/masking/mask-rules.shapes";
import { useEditMaskRule } from "@/lib/guard/masking/masking.browser";

const KINDS: { value: MaskKind; label: string }[] = [
  { value: "key", label: "a name of a field" },
  { value: "pointer", label: "a JSON pointer" },
  { value: "detector", label: "a built-in detector" },
];
const HINTS: Record<MaskKind, string> = {
  key: "Members, headers, tags and names in texts, without case; * is any text: *email",
  pointer: "One place of the payload; * is any one name or index: /items/*/email",
  detector: "To switch it off, or on again for one source.",
};

/** `rule` null: a new one. */
export function MaskRuleDialog({ rule, onClose }: { rule: MaskRuleOut | null; onClose: () => void }) {
  const [kind, setKind] = useState<MaskKind>(rule?.kind ?? "key");
  const [pattern, setPattern] = useState(rule?.pattern ?? "");
  const [source, setSource] = useState("");
  const [enabled, setEnabled] = useState(rule?.enabled ?? true);
  const edit = useEditMaskRule();
  const fault = patternFault(kind, pattern.trim());
  return (
    <ReasonDialog
      needs="change-masks"
      everySource={rule === null ? source.trim() === "" : rule.source === null}
      title={rule === null ? "Add a mask rule" : "Change a mask rule"}
      description="It counts for everybody, in what is stored already, too."
      verb={rule === null ? "Add it" : "Change it"}
      reason="none"
      onClose={onClose}
      onSubmit={async () => {
        if (fault !== null) return "stay";
        const name = source.trim();
        await edit.mutateAsync(
          rule === null
            ? { add: { kind, pattern: pattern.trim(), enabled, ...(name === "" ? {} : { source: name }) } }
            : { change: { id: rule.id, pattern: pattern.trim(), enabled } },
        );
        return { title: rule === null ? "The rule is in force" : "The rule was changed" };
      }}
    >
      {(pressed) => (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
          {rule === null ? (
            <SelectField
              label="Mask by"
              options={KINDS}
              value={kind}
              onValue={(value) => {
                setKind(value as MaskKind);
                setPattern(value === "detector" ? DETECTORS[0] : "");
                setEnabled(value !== "detector");
              }}
            />
          ) : null}
          {kind === "detector" ? (
            <SelectField
              label="Detector"
              hint={HINTS.detector}
              options={DETECTORS.map((value) => ({ value, label: value }))}
              value={pattern}
              onValue={setPattern}
            />
          ) : (
            <TextField
              label="Pattern"
              hint={HINTS[kind]}
              error={pressed ? fault : null}
              maxLength={512}
              value={pattern}
              onValue={setPattern}
            />
          )}
          {rule === null ? (
            <TextField
              label="Source"
              optional
              hint="Its name. None: every source."
              maxLength={200}
              value={source}
              onValue={setSource}
            />
          ) : null}
          <SelectField
            label="State"
            options={[
              { value: "on", label: "on: it masks" },
              { value: "off", label: "off" },
            ]}
            value={enabled ? "on" : "off"}
            onValue={(value) => setEnabled(value === "on")}
          />
        </div>
      )}
    </ReasonDialog>
  );
}
