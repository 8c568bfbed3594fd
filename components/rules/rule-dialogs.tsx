"use client";

import type { ComponentProps } from "react";
import { ReasonDialog } from "@/components/ui/reason-dialog";

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
