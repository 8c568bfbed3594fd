"use client";

import type { UseMutationResult } from "@tanstack/react-query";
import { type ComponentProps, type ReactNode, useState } from "react";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import type { Needs } from "@/lib/guard/viewer/viewer.pure";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import type { FieldError } from "@/lib/platform/plain/problem.pure";

/** What a form shows and changes. `errors`: by the field of the form. */
export type RuleForm<Draft, Errors> = { draft: Draft; errors: Errors; set: (part: Partial<Draft>) => void };

/** Creates a rule, switched off, or edits one. `request`: what the draft asks for, or what it lacks. */
export function RuleDialog<Draft, Errors extends object, Request extends { name: string }>(props: {
  needs: Needs;
  /** Whether what the draft asks for concerns every source. */
  everySource: (draft: Draft) => boolean;
  noun: string;
  rule: { name: string } | null;
  initial: () => Draft;
  request: (draft: Draft, reason: string) => { ok: true; rule: Request } | { ok: false; errors: Errors };
  /** The errors of the server at the fields of the form. */
  errorsOf: (fields: readonly FieldError[]) => Errors;
  save: UseMutationResult<unknown, ApiError, Request>;
  description: string;
  onClose: () => void;
  children: (form: RuleForm<Draft, Errors>) => ReactNode;
}) {
  const { everySource, noun, rule, initial, request, errorsOf, save, children, ...dialog } = props;
  const [draft, setDraft] = useState(initial);
  const server = errorsOf(save.error?.fields ?? []);
  return (
    <ReasonDialog
      {...dialog}
      everySource={everySource(draft)}
      title={rule === null ? `New ${noun}` : `Edit ${rule.name}`}
      verb={rule === null ? "Save, switched off" : "Save"}
      onSubmit={async (reason) => {
        const result = request(draft, reason);
        if (!result.ok) return "stay";
        await save.mutateAsync(result.rule);
        return { title: `Saved ${result.rule.name}`, tone: "success" };
      }}
    >
      {(pressed) => {
        const result = request(draft, "");
        const errors = { ...server, ...(pressed && !result.ok ? result.errors : {}) };
        return children({ draft, errors, set: (part) => setDraft({ ...draft, ...part }) });
      }}
    </ReasonDialog>
  );
}

/** Switches a rule on, or off when it is on. */
export function SwitchRuleDialog(
  props: Pick<
    ComponentProps<typeof ReasonDialog>,
    "needs" | "everySource" | "description" | "variant" | "stops" | "ready" | "onClose" | "children"
  > & {
    rule: { name: string; enabled: boolean };
    onSwitch: (reason: string) => Promise<unknown>;
  },
) {
  const { rule, onSwitch, ...dialog } = props;
  const verb = rule.enabled ? "Switch off" : "Switch on";
  return (
    <ReasonDialog
      {...dialog}
      title={`${verb}: ${rule.name}`}
      size={rule.enabled ? "sm" : "md"}
      verb={verb}
      onSubmit={async (reason) => {
        await onSwitch(reason);
        return { title: `${rule.name} is ${rule.enabled ? "off" : "on"}`, tone: "success" };
      }}
    />
  );
}
